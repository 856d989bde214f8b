# SPDX-License-Identifier: Apache-2.0
"""Names of the cloud in a template: flavors, images and networks, and how an unknown one is refused.

So is a least allocation that no server of a flavor can have: the application would wait for ever.

For the virtual clusters of Merkat (INRIA RR-8648), section 2.3.1.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum

from nova_market.core.app.template import AppTemplate
from nova_market.core.market.owner_server import ServerFlavor
from nova_market.errors import BadTemplate

NO_NETWORK = ('none',)
"""In place of networks: servers without any."""

MOST_NEAR = 3


class NameKind(StrEnum):
    """What a name is of."""

    FLAVOR = 'flavor'
    IMAGE = 'image'
    NETWORK = 'network'


@dataclass(frozen=True, slots=True, order=True)
class CloudName:
    """A name or an id."""

    kind: NameKind
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownName:
    """why: in a few words; near: names that there are and that it may stand for"""

    name: CloudName
    why: str
    near: Sequence[str] = ()


def names_of(template: AppTemplate) -> Mapping[str, CloudName]:
    """Where a template has a name -> the name."""
    found = {}
    for n, one in enumerate(template.components):
        where = f'components[{n}]'
        found[f'{where}.flavor'] = CloudName(NameKind.FLAVOR, one.flavor)
        found[f'{where}.image'] = CloudName(NameKind.IMAGE, one.image)
        networks = () if one.networks == NO_NETWORK else one.networks
        for place, network in enumerate(networks):
            found[f'{where}.networks[{place}]'] = CloudName(NameKind.NETWORK, network)
    return found


def near(name: str, names: Iterable[str]) -> Sequence[str]:
    """Of these names, those that are most like this one."""
    return get_close_matches(name, sorted(set(names)), n=MOST_NEAR)


def check_names(template: AppTemplate, unknown: Iterable[UnknownName]) -> None:
    """:raises BadTemplate: the first name that is unknown: the entry, the name and those near it."""
    problem = problem_of(names_of(template), unknown)
    if problem is not None:
        raise BadTemplate(problem)


def problem_of(names: Mapping[str, CloudName], unknown: Iterable[UnknownName]) -> str | None:
    """What is wrong with the first name that is unknown, and what to do; names: by entry."""
    found = {one.name: one for one in unknown}
    for where, name in names.items():
        if (one := found.get(name)) is not None:
            meant = f'did you mean {" or ".join(one.near)}? ' if one.near else ''
            return (
                f'{where}: {name.name!r:.100}: {one.why}: {meant}"openstack {name.kind} list" has those '
                'that you may use'
            )
    return None


def check_sizes(template: AppTemplate, flavors: Mapping[str, ServerFlavor]) -> None:
    """flavors: by name, those whose size is known

    :raises BadTemplate: the first least that is more than a server has: the entry, its value and the limit.
    """
    for n, one in enumerate(template.components):
        flavor = flavors.get(one.flavor)
        if flavor is None:
            continue
        for entry, least, most, unit in (
            ('cpu', one.least_cpu, flavor.vcpus, 'cores'),
            ('memory_mib', one.least_memory_mib, flavor.memory_mib, 'MiB'),
        ):
            if least > most:
                raise BadTemplate(
                    f'components[{n}].least.{entry}: {least:.9g} is more than a server of flavor '
                    f'{one.flavor} has: give at most {most:.9g} {unit}, or a larger flavor'
                )
