# SPDX-License-Identifier: Apache-2.0
"""How the people and guests of the cloud call the market's API: as everybody, but without a network."""

import logging
from collections.abc import Callable, Iterable
from typing import Any

from werkzeug.test import Client
from werkzeug.wrappers import Response

from nova_market.playground.identity import Identity, Token
from nova_market.playground.people import Person

LOG = logging.getLogger(__name__)

Wsgi = Callable[..., Iterable[bytes]]


class Calls:
    """Used by one thread."""

    def __init__(self, application: Wsgi, identity: Identity, url: str) -> None:
        """url: of the application"""
        self._url = url
        self._client = Client(application, Response)
        self._identity = identity
        self._tokens: dict[str, Token] = {}

    def of(self, person: Person, method: str, path: str, body: Any = None) -> Any:
        """The document that a person gets; None: the request was refused, which is logged."""
        headers = {'X-Auth-Token': self._token(person), 'OpenStack-API-Version': 'market latest'}
        answer = self._client.open(
            path, method=method, base_url=self._url, headers=headers, json=body
        )
        if answer.status_code >= 400:
            LOG.info('%s: %s %s: %s', person.name, method, path, answer.get_data(as_text=True))
            return None
        return answer.get_json(silent=True) or {}

    def guest(self, path: str, body: Any, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        """(status, document) that a guest gets, who has a credential and no token."""
        answer = self._client.post(path, base_url=self._url, json=body, headers=headers or {})
        return answer.status_code, answer.get_json(silent=True)

    def _token(self, person: Person) -> str:
        known = self._tokens.get(person.name)
        if known is None or self._identity.token(known.text) is None:
            known = self._tokens[person.name] = self._identity.issue(person)
        return known.text
