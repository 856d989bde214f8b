# SPDX-License-Identifier: Apache-2.0
"""Which versions are served, and the description of the API."""

from typing import Any

from nova_market.api.call import Call
from nova_market.api.contract import gives
from nova_market.api.microversion import LOWEST, NEWEST
from nova_market.api.schemas import version as schemas

UPDATED = '2026-11-28T00:00:00Z'


@gives(200, schemas.VERSIONS)
def index(call: Call) -> Any:
    """Versions that are served."""
    return {'versions': [_version(call)]}


@gives(200, schemas.ONE)
def show(call: Call) -> Any:
    """Version 1."""
    return {'version': _version(call)}


@gives(200, schemas.DESCRIPTION)
def description(call: Call) -> Any:
    """This API as OpenAPI 3.1."""
    return call.description()


def _version(call: Call) -> dict[str, object]:
    return {
        'id': 'v1',
        'status': 'CURRENT',
        'version': str(NEWEST),
        'min_version': str(LOWEST),
        'max_version': str(NEWEST),
        'updated': UPDATED,
        'links': [{'rel': 'self', 'href': f'{call.root}/v1/'}],
    }
