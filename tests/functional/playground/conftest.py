# SPDX-License-Identifier: Apache-2.0
"""One playground for the tests of this directory that only look at it, and its login."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nova_market.playground.playground import Playground
from tests.support.playground import asked, pass_time, playing


@pytest.fixture(scope='package')
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """After half an hour of its first morning, when its first job has ended: it takes up to 45 minutes."""
    with playing(tmp_path_factory.mktemp('playground') / 'here') as made:
        pass_time(made, 1800)
        for _ in range(6):
            if asked(made, 'operator', '/v1/jobs?all_projects=true&state=finished')['jobs']:
                break
            pass_time(made, 300)
        yield made


Send = Callable[..., tuple[int, Any, Any]]


@pytest.fixture(scope='package')
def send(played: Playground) -> Send:
    """send(method, path, token, body, **headers) -> (status, document, headers), over HTTP."""

    def sent(
        method: str, path: str, token: str = '', body: Any = None, **more: str
    ) -> tuple[int, Any, Any]:
        headers = {'X-Auth-Token': token, 'OpenStack-API-Version': 'market latest', **more}
        given = None if body is None else json.dumps(body).encode()
        if given is not None:
            headers['Content-Type'] = 'application/json'
        asked = urllib.request.Request(
            f'{played.url}{path}', method=method, headers=headers, data=given
        )
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else None, answer.headers
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read() or b'null'), error.headers

    return sent
