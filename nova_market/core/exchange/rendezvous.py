# SPDX-License-Identifier: Apache-2.0
"""Which aggregator adds up which owner, and which hosts are aggregators.

Supports the message exchange of IFI-2016.04, section IV-D, with aggregators; the paper has none. By
rendezvous hashing: a key belongs to the aggregator of the highest hash of (key, aggregator). When an
aggregator goes, only its own keys move, and they spread over the others. Every host computes this by
itself from the list of members, so hosts with the same list agree without coordination.

The hash is BLAKE2b and does not depend on process, Python or machine.
"""

from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b

from nova_market.core.resource import HostName

SEPARATOR = '\0'
"""Not printable, so it is in no name: `a` + `bc` and `ab` + `c` differ."""


def aggregator_of(key: str, aggregators: Iterable[HostName]) -> HostName:
    """The aggregator that a key belongs to.

    :raises ValueError: there are no aggregators.
    """
    return max(aggregators, key=lambda host: (_hash(key, host), host))


def elect(
    members: Iterable[HostName], count: int, named: Collection[HostName] = ()
) -> tuple[HostName, ...]:
    """The aggregators, ordered by name.

    Those of `named` that are members; where there are none, the `count` members of the lowest hash.
    """
    everyone = set(members)
    chosen = everyone.intersection(named)
    if not chosen:
        chosen = set(sorted(everyone, key=lambda host: (_hash('', host), host))[:count])
    return tuple(sorted(chosen))


def copies_of(
    aggregators: Sequence[HostName],
    members: Iterable[HostName],
    copies: int,
    named: Collection[HostName] = (),
) -> tuple[tuple[HostName, ...], ...]:
    """The aggregators of each copy, the first as given; at each place those that add up the same owners.

    All are different hosts at one place. Where aggregators are named, they are each other's copies; otherwise
    the next members of the lowest hash are. There are fewer copies where there are too few hosts.
    """
    found = [tuple(aggregators)]
    if set(aggregators) & set(named):
        found += [(*aggregators[n:], *aggregators[:n]) for n in range(1, len(aggregators))]
        return tuple(found[:copies])
    others = set(members).difference(aggregators)
    while len(found) < copies and len(others) >= len(aggregators) > 0:
        found.append(elect(others, len(aggregators)))
        others.difference_update(found[-1])
    return tuple(found)


def set_digest(aggregators: Iterable[HostName]) -> str:
    """A short name for a set of aggregators, the same for all hosts that divide owners among it."""
    text = SEPARATOR.join(sorted(aggregators))
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _hash(key: str, host: HostName) -> bytes:
    return blake2b(f'{key}{SEPARATOR}{host}'.encode(), digest_size=8).digest()
