# SPDX-License-Identifier: Apache-2.0
"""The keys `market:*` of flavors, server metadata and scheduler hints: meaning and values.

Implements rules B1 and S4 of doc/source/specs/market.rst. Units: credits per period as text, cores, MiB,
seconds, periods.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nova_market.core.ledger.money import MAX_AMOUNT, credit_text, micro_credits
from nova_market.errors import BadAmount

PREFIX = 'market:'
MAX_CPU = 'market:max_cpu'
MAX_MEMORY = 'market:max_memory_mib'
PERIODS = 'market:affordable_periods'
CLASS = 'market:class'
DURATION = 'market:duration'

LONG, SHORT, BEST_EFFORT = 'long', 'short', 'best-effort'
CLASSES = (LONG, SHORT, BEST_EFFORT)

LEAST_CORES = 0.001
"""Of a core: less is no use to a guest, and numbers near zero are beyond what decisions can compute with."""

LEAST_MIB = 1.0
MOST_CORES = 1_000_000.0
MOST_MIB = 2.0**40
MOST_PERIODS = 1_000_000
MOST_SECONDS = 315_360_000
"""Ten years."""

Check = Callable[[str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlavorKey:
    """range: what a value may be, in words; fits: is this text such a value?"""

    name: str
    description: str
    range: str
    fits: Check


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most a server can use, inf where nothing limits it; problems: of texts that are no limits."""

    cpu: float = math.inf
    memory_mib: float = math.inf
    problems: tuple[str, ...] = ()


UNLIMITED = Limits()


def check(name: str, value: str) -> None:
    """Refuse a key that is not the market's, or a value that its key does not take.

    :raises BadAmount: names the key, the value and what it may be.
    """
    known = KEYS.get(name)
    if known is None:
        raise BadAmount(f'{name!r:.80} is no key of the market: known are {", ".join(KEYS)}')
    if not known.fits(value):
        raise BadAmount(f'{name} is {value!r:.80}: give {known.range}')


def limits(*texts: Mapping[str, str]) -> Limits:
    """The smallest limits that extra specs and metadata set; a text that is no limit does not count."""
    if not any(MAX_CPU in one or MAX_MEMORY in one for one in texts):
        return UNLIMITED
    found = {MAX_CPU: math.inf, MAX_MEMORY: math.inf}
    problems = []
    for one in texts:
        for name in found:
            try:
                found[name] = min(found[name], _limit(name, one))
            except BadAmount as error:
                problems.append(str(error))
    return Limits(cpu=found[MAX_CPU], memory_mib=found[MAX_MEMORY], problems=tuple(problems))


def _limit(name: str, texts: Mapping[str, str]) -> float:
    if name not in texts:
        return math.inf
    check(name, texts[name])
    return float(texts[name])


def real(text: str, least: float, most: float) -> float | None:
    """A number within the bounds; None for everything else."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if least <= found <= most else None


def whole(text: str, least: int, most: int) -> int | None:
    """A whole number within the bounds; None for everything else."""
    # int() takes 1_000, and digits of other scripts
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        return None
    found = int(text)
    return found if least <= found <= most else None


def _credits(text: str) -> bool:
    try:
        micro_credits(text, '')
    except BadAmount:
        return False
    return True


_BID = f'credits per period, 0 to {credit_text(MAX_AMOUNT)} with at most 6 digits after the point'

KEYS: Mapping[str, FlavorKey] = {
    key.name: key
    for key in (
        FlavorKey(
            name='market:bid_cpu',
            description='What a server bids for CPU until its owner sets another bid.',
            range=_BID,
            fits=_credits,
        ),
        FlavorKey(
            name='market:bid_memory',
            description='What a server bids for memory until its owner sets another bid.',
            range=_BID,
            fits=_credits,
        ),
        FlavorKey(
            name=MAX_CPU,
            description='The most CPU a server can use, when that is less than its vCPUs.',
            range=f'cores, {LEAST_CORES:g} to {MOST_CORES:.0f}',
            fits=lambda text: real(text, LEAST_CORES, MOST_CORES) is not None,
        ),
        FlavorKey(
            name=MAX_MEMORY,
            description='The most memory a server can use, when that is less than its RAM.',
            range=f'MiB, {LEAST_MIB:g} to {MOST_MIB:.0f}',
            fits=lambda text: real(text, LEAST_MIB, MOST_MIB) is not None,
        ),
        FlavorKey(
            name=PERIODS,
            description=(
                'Periods for which a project must be able to pay before a server is placed '
                '(AffordableFilter); 0 = not asked.'
            ),
            range=f'a whole number, 0 to {MOST_PERIODS}',
            fits=lambda text: whole(text, 0, MOST_PERIODS) is not None,
        ),
        FlavorKey(
            name=CLASS,
            description=(
                "Whether a server counts against its project's granted share (ShareGuaranteeFilter): "
                'long does, short and best-effort do not.'
            ),
            range=f'one of {", ".join(CLASSES)}',
            fits=lambda text: text in CLASSES,
        ),
        FlavorKey(
            name=DURATION,
            description='Seconds a server is going to live (LeaseFilter).',
            range=f'a whole number of seconds, 1 to {MOST_SECONDS}',
            fits=lambda text: whole(text, 1, MOST_SECONDS) is not None,
        ),
    )
}
