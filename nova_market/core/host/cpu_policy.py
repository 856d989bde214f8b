# SPDX-License-Identifier: Apache-2.0
"""Which virtual CPUs of a server have a physical CPU of their own.

For IFI-2016.04, section IV-A, and rule B1 of doc/source/specs/market.rst: such CPUs are not divided by
weight, so nobody competes for them. The extra specs and their values are those of Nova's flavors.
"""

import re
from collections.abc import Mapping

POLICY = 'hw:cpu_policy'
REALTIME = 'hw:cpu_realtime'
DEDICATED_MASK = 'hw:cpu_dedicated_mask'
REALTIME_MASK = 'hw:cpu_realtime_mask'

KEYS = (POLICY, REALTIME, DEDICATED_MASK, REALTIME_MASK)
"""The extra specs that decide."""

TRUE = frozenset({'1', 't', 'true', 'on', 'y', 'yes'})
"""What Nova takes for true (oslo.utils, strutils.bool_from_string)."""

MASK_ITEM = re.compile(r'(\^?)([0-9]{1,5})(?:-([0-9]{1,5}))?', re.ASCII)


def has_dedicated_cpus(extra_specs: Mapping[str, str]) -> bool:
    """Whether the server has dedicated CPUs (pinned or realtime), so that its CPU weight is left alone."""
    realtime = extra_specs.get(REALTIME, '').strip().lower() in TRUE
    return realtime or _policy(extra_specs) in ('dedicated', 'mixed')


def dedicated_cpus(extra_specs: Mapping[str, str], vcpus: int) -> int:
    """How many of a server's virtual CPUs are dedicated, as Placement counts them (PCPU).

    Of a mixed server: those in its dedicated mask, or else in its realtime mask. Nova refuses a mixed flavor
    without a valid mask, so a mask that can't be read counts as none.
    """
    policy = _policy(extra_specs)
    if policy == 'dedicated':
        return vcpus
    if policy != 'mixed':
        return 0
    return len(
        _in_mask(extra_specs.get(DEDICATED_MASK) or extra_specs.get(REALTIME_MASK, ''), vcpus)
    )


def _policy(extra_specs: Mapping[str, str]) -> str:
    return extra_specs.get(POLICY, '').strip().lower()


def _in_mask(mask: str, vcpus: int) -> set[int]:
    """The CPUs of a mask such as `0-3,^1`; one that begins with an exclusion starts from all CPUs."""
    everything = set(range(vcpus))
    included = set(everything) if mask.strip().startswith('^') else set()
    excluded: set[int] = set()
    for item in mask.split(','):
        match = MASK_ITEM.fullmatch(item.strip())
        if match is None:
            return set()
        sign, first, last = match.groups()
        (excluded if sign else included).update(range(int(first), int(last or first) + 1))
    return (included - excluded) & everything
