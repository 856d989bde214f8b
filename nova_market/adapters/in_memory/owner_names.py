# SPDX-License-Identifier: Apache-2.0
"""Names of flavors, images and networks that somebody has written down."""

from collections.abc import Iterable, Mapping, Sequence

from nova_market.core.app.cloud_name import CloudName, NameKind, UnknownName, near
from nova_market.core.market.owner_server import ServerFlavor
from nova_market.errors import CloudUnavailable


class StaticNames:
    """Names that somebody has written down: a fake for tests.

    known: of a kind that is not in it, every name is known; available = False: OpenStack is down.
    flavors: those whose size is known, by name
    """

    def __init__(
        self,
        known: Mapping[NameKind, Sequence[str]] | None = None,
        flavors: Mapping[str, ServerFlavor] | None = None,
    ) -> None:
        self.available = True
        self.known = dict(known or {})
        self.flavors = dict(flavors or {})

    def unknown(
        self, token: str, project_id: str, names: Iterable[CloudName]
    ) -> Sequence[UnknownName]:
        if not self.available:
            raise CloudUnavailable('the names were made unavailable; set available to True')
        found = []
        for one in sorted(set(names)):
            there = self.known.get(one.kind)
            count = 1 if there is None else there.count(one.name)
            if count != 1:
                why = f'there is no such {one.kind} that your project may use'
                found.append(
                    UnknownName(
                        name=one,
                        why=f'{count} are named so: give the id of one' if count else why,
                        near=() if count or not there else near(one.name, there),
                    )
                )
        return found

    def sizes(
        self, token: str, project_id: str, flavors: Iterable[str]
    ) -> Mapping[str, ServerFlavor]:
        if not self.available:
            raise CloudUnavailable('the names were made unavailable; set available to True')
        return {name: self.flavors[name] for name in flavors if name in self.flavors}
