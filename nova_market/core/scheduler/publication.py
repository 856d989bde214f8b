# SPDX-License-Identifier: Apache-2.0
"""The picture of a round for Nova's scheduler; stored with the round, published by the API.

Implements rule S2 of doc/source/specs/market.rst. Units: as in core.scheduler.snapshot. Heaviness is what the
hosts reported with their confirmations of the rounds before. Shares and watts are the operator's. What leases
have reserved is published beside the round: it changes more often (core.scheduler.reserved).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from nova_market.core.ledger.posting import account
from nova_market.core.market.inputs import RoundInputs
from nova_market.core.market.inventory import CloudHost
from nova_market.core.market.round import RoundOutcome
from nova_market.core.resource import Array, OwnerId, Rows
from nova_market.core.scheduler.snapshot import SchedulerSnapshot, document_of, round_snapshot

KEY = 'scheduler'
"""Where it stands in a round's document."""

DIGITS = 7
"""Significant ones: enough to choose by, and a third of the bytes."""

MOST_SCALE = 100.0
"""Powers of ten by which a number is scaled to be rounded: none of a round is anywhere near them."""

HEAVIEST = 1e9
"""Heaviness is about 1 for an owner that has its part of the cloud; beyond this a host errs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorTerms:
    """What the operator has set, for the scheduler alone.

    shares: granted part of the cloud, 0 to 1, by project
    watts:  (hosts,) and (hosts,) by names: of a host that is idle, and what a full load adds
    """

    shares: Mapping[str, float] = field(default_factory=dict)
    watts: Callable[[Sequence[str]], tuple[Array, Array]] | None = None


NO_TERMS = OperatorTerms()


def scheduler_document(
    inputs: RoundInputs,
    outcome: RoundOutcome,
    heaviness: Mapping[OwnerId, float],
    terms: OperatorTerms = NO_TERMS,
) -> dict[str, object]:
    """The picture as JSON has it."""
    return document_of(scheduler_snapshot(inputs, outcome, heaviness, terms))


def scheduler_snapshot(
    inputs: RoundInputs,
    outcome: RoundOutcome,
    heaviness: Mapping[OwnerId, float],
    terms: OperatorTerms = NO_TERMS,
) -> SchedulerSnapshot:
    """Hosts that answer, and projects that have an account. heaviness: of owners, where known."""
    owners, due, used = _projects(inputs, outcome)
    balances = [inputs.accounts[account('project', owner)].balance for owner in owners]
    whole = round_snapshot(
        inputs.period,
        inputs.snapshot,
        outcome,
        hosts={host.name: row for row, host in enumerate(inputs.hosts)},
        vcpus=_vcpus(inputs),
        projects=owners,
        available=np.array(balances, dtype=np.float64),
        due=due,
        used=_short(used),
    )
    rows = np.flatnonzero(inputs.snapshot.answering)
    heavy, host_heavy = _heaviness(inputs, owners, heaviness)
    return replace(
        whole,
        hosts={inputs.hosts[row].name: i for i, row in enumerate(rows.tolist())},
        capacity=_short(whole.capacity[:, rows]),
        bids=_short(whole.bids[:, rows]),
        demand=_short(whole.demand[:, :, rows]),
        vcpus=whole.vcpus[rows],
        sold=None if whole.sold is None else whole.sold[:, rows],
        heaviness=heavy,
        host_heaviness=None if host_heavy is None else host_heavy[rows],
        share=np.array([terms.shares.get(owner, np.nan) for owner in owners], dtype=np.float64),
        watts=_watts([inputs.hosts[row] for row in rows.tolist()], terms),
    )


def published(document: Mapping[str, object], age: float) -> dict[str, object] | None:
    """The picture in a stored round's document, with its age now; None in that of an older version."""
    found = document.get(KEY)
    return {**found, 'age': age} if isinstance(found, Mapping) else None


def _watts(hosts: Sequence[CloudHost], terms: OperatorTerms) -> Array | None:
    """(2, hosts): idle, and of one busy core on top; NaN for a host without cores; None: nobody knows."""
    if terms.watts is None:
        return None
    idle, more = terms.watts([host.name for host in hosts])
    cores = np.array([host.cores for host in hosts], dtype=np.float64)
    each = np.divide(more, cores, out=np.full(len(hosts), np.nan), where=cores > 0)
    return np.stack([idle, _short(each)])


def _vcpus(inputs: RoundInputs) -> Array:
    """(hosts,) what Nova counts as used on a host, or the servers there where Nova reports none.

    Servers are fewer: Nova counts reserved CPUs too, and servers that are deleted softly or resized.
    """
    row = {host.name: number for number, host in enumerate(inputs.hosts)}
    found = np.zeros(len(inputs.hosts))
    for server in (*inputs.servers, *inputs.others):
        if server.host in row:
            found[row[server.host]] += server.vcpus
    used = np.array([h.vcpus_used for h in inputs.hosts], dtype=np.float64)  # None is NaN
    return np.where(np.isnan(used), found, used)


def _projects(inputs: RoundInputs, outcome: RoundOutcome) -> tuple[list[str], Array, Array]:
    """(projects with an account, what each pays a period, what its servers can use)."""
    owners = sorted(
        one.project_id for name, one in inputs.accounts.items() if name.startswith('project:')
    )
    row = {owner: number for number, owner in enumerate(owners)}
    of_server: Rows = np.array([row[s.project_id] for s in inputs.servers], dtype=np.intp)
    payer = {account('project', owner): number for owner, number in row.items()}
    # what a budget pays is not the project's own
    paid_by = np.array([payer.get(p, len(owners)) for p in inputs.bids.payers], dtype=np.intp)
    due = np.bincount(paid_by, outcome.due(), len(owners) + 1)[: len(owners)]
    sizes = np.array([[s.vcpus, s.memory_mib] for s in inputs.servers], dtype=np.float64)
    columns = sizes.reshape(-1, 2).T
    used = [np.bincount(of_server, column, len(owners)) for column in columns]
    return owners, due.astype(np.float64), np.array(used, dtype=np.float64)


def _heaviness(
    inputs: RoundInputs, owners: list[str], heaviness: Mapping[OwnerId, float]
) -> tuple[Array | None, Array | None]:
    """(of owners; of hosts, the mean of their servers' owners), NaN = not known; (None, None): none is.

    A project without servers has no heaviness that a host could report.
    """
    # what a host reports is bounded: a number that readers refuse would cost them the whole picture
    sound = {
        owner: float(np.clip(found, -HEAVIEST, HEAVIEST)) for owner, found in heaviness.items()
    }
    of_server = np.array(
        [sound.get(OwnerId(server.project_id), np.nan) for server in inputs.servers],
        dtype=np.float64,
    )
    known = ~np.isnan(of_server)
    if not known.any():
        return None, None
    host, count = inputs.snapshot.host[known], len(inputs.hosts)
    sums = np.bincount(host, of_server[known], count)
    servers = np.bincount(host, minlength=count)
    of_host = np.divide(sums, servers, out=np.full(count, np.nan), where=servers > 0)
    of_owner = np.array([sound.get(OwnerId(owner), np.nan) for owner in owners])
    return np.round(of_owner, DIGITS), np.round(of_host, DIGITS)


def _short(numbers: Array) -> Array:
    """To DIGITS significant ones; what is smaller than any amount of the market is 0."""
    scale = np.zeros_like(numbers)
    np.log10(numbers, out=scale, where=numbers > 0)
    unit = 10.0 ** np.clip(DIGITS - 1 - np.floor(scale), -MOST_SCALE, MOST_SCALE)
    rounded: Array = np.round(numbers * unit) / unit
    return rounded
