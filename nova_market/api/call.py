# SPDX-License-Identifier: Apache-2.0
"""One request as a handler sees it: who asks, what for, and what he may do."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from urllib.parse import urlencode

from oslo_context.context import RequestContext
from oslo_policy import policy

from nova_market.api.documents import Documents
from nova_market.api.errors import ApiError, not_found
from nova_market.api.microversion import HEADER, Version
from nova_market.api.stores import ApiStores, Settings

Item = TypeVar('Item')


class Owned(Protocol):
    """What belongs to a project; '': to none."""

    @property
    def project_id(self) -> str: ...


OwnedT = TypeVar('OwnedT', bound=Owned)

NOBODY = '-'
"""Stands for the owner of what belongs to no project: no token has this project."""


@dataclass(slots=True, kw_only=True)
class Call:
    """path: values from the URL; query, body: checked against the handler's schemas."""

    context: RequestContext | None
    enforcer: policy.Enforcer
    stores: ApiStores
    settings: Settings
    documents: Documents
    description: Callable[[], Mapping[str, Any]]
    version: Version
    root: str
    route: str
    path: Mapping[str, str]
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    key: str | None = None
    authorized: bool = False

    @property
    def project_id(self) -> str:
        """The project of the caller's token; '' for one that is scoped to none."""
        return (self.context.project_id or '') if self.context else ''

    @property
    def domain_id(self) -> str:
        """The domain of that project; '' where there is none."""
        return (self.context.project_domain_id or '') if self.context else ''

    @property
    def user_id(self) -> str:
        return (self.context.user_id or '') if self.context else ''

    def needs(self, since: Version, entry: str) -> None:
        """:raises ApiError: 400; the version asked for does not have this entry yet."""
        if self.version < since:
            raise ApiError(
                400,
                'market.request.invalid',
                f'{entry} is there from version {since} on: send {HEADER}: market {since}',
            )

    def may(self, rule: str, project_id: str = '') -> bool:
        """Whether the caller may do this to what belongs to a project."""
        assert self.context is not None, 'a public route has no caller'
        self.authorized = True
        target = {'project_id': project_id or NOBODY}
        try:
            return bool(self.enforcer.authorize(f'market:{rule}', target, self.context))
        except policy.InvalidScope:
            return False

    def authorize(self, rule: str, project_id: str = '') -> None:
        """:raises ApiError: 403; names the policy rule."""
        if not self.may(rule, project_id):
            raise ApiError(
                403,
                'market.policy.forbidden',
                f'your roles in this project do not allow market:{rule}; ask an administrator',
            )

    def seen(self, rule: str, what: str, name: str, found: OwnedT | None) -> OwnedT:
        """What was found by this name, which the caller may see.

        :raises ApiError: 404, in the same words when there is none.
        """
        allowed = self.may(rule, found.project_id if found else '')
        if found is None or not allowed:
            raise not_found(what, name)
        return found

    def whose(self, rule: str) -> str | None:
        """The project whose things to list: the caller's, one asked for, or None: all.

        :raises ApiError: 403.
        """
        if self.query.get('all_projects'):
            self.authorize(f'{rule}_all')
            return None
        wanted: str = self.query.get('project_id') or self.project_id
        self.authorize(rule, wanted)
        return wanted

    def page(
        self,
        name: str,
        lines: Sequence[Any],
        found: Sequence[Item],
        marker: Callable[[Item], object],
    ) -> dict[str, object]:
        """A page of a list, with a link to the next one when there is more.

        found: up to `limit` + 1 of them; lines: the same as they are shown
        marker: of an item, by which the page after it is asked for
        """
        limit = self.limit
        answer: dict[str, object] = {name: list(lines[:limit])}
        if len(found) > limit:
            query = {**self.query, 'limit': limit, 'marker': marker(found[limit - 1])}
            text = urlencode({k: _text(v) for k, v in query.items() if v is not None})
            answer[f'{name}_links'] = [{'rel': 'next', 'href': f'{self.root}{self.route}?{text}'}]
        return answer

    @property
    def limit(self) -> int:
        """Items of a page."""
        return min(int(self.query.get('limit') or self.settings.max_limit), self.settings.max_limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a handler returns when its status is not 200."""

    body: Any = None
    status: int = 200


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
