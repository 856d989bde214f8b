# SPDX-License-Identifier: Apache-2.0
"""The API as OpenAPI 3.1, made from the table of routes and the schemas its handlers enforce.

Implements rule Q5 of doc/source/specs/market.rst.
"""

import inspect
import re
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

from nova_market.api.contract import Contract, contract_of
from nova_market.api.costs import cost_of
from nova_market.api.microversion import HEADER, LOWEST, NEWEST
from nova_market.api.routes import PATH_VALUES, ROUTES, Route
from nova_market.api.schemas.version import ERROR
from nova_market.core.json_schema import record
from nova_market.core.service_type import SERVICE_TYPE

IN_BRACES = re.compile(r'\{(\w+)\}')
ERROR_STATUSES = (400, 401, 403, 404, 405, 406, 409, 413, 415, 429, 503)
SECONDS = {'type': 'integer', 'minimum': 1, 'description': 'seconds'}
VERSION_HEADER = {
    'name': HEADER,
    'in': 'header',
    'required': False,
    'schema': {'type': 'string', 'examples': [f'{SERVICE_TYPE} {NEWEST}']},
}


@cache
def description() -> Mapping[str, Any]:
    """The document of /v1/openapi.json."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        'openapi': '3.1.0',
        'jsonSchemaDialect': 'https://json-schema.org/draft/2020-12/schema',
        'info': {
            'title': 'VM market',
            'version': str(NEWEST),
            'description': 'Credits, bids, prices and allocations. Amounts are whole micro-credits; '
            'a credit is 1,000,000 of them.',
            'license': {'name': 'Apache-2.0', 'identifier': 'Apache-2.0'},
        },
        'paths': paths,
        'components': {
            'schemas': {'Error': ERROR},
            'securitySchemes': {
                'token': {'type': 'apiKey', 'in': 'header', 'name': 'X-Auth-Token'}
            },
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    contract = contract_of(route.handler)
    text = inspect.getdoc(route.handler) or ''
    operation: dict[str, Any] = {
        'operationId': route.name,
        'summary': text.partition('\n')[0],
        'tags': [route.path.split('/')[2] if route.path.count('/') > 1 else 'versions'],
        'parameters': _parameters(route),
        'responses': _responses(route),
        'x-cost': cost_of(route.name),
    }
    if contract.body is not None:
        operation['requestBody'] = {
            'required': True,
            'content': {'application/json': {'schema': contract.body}},
        }
        if contract.plain is not None:
            operation['requestBody']['content']['text/plain'] = {'schema': {'type': 'string'}}
    if not route.public:
        operation['security'] = [{'token': []}]
    return operation


def _parameters(route: Route) -> list[dict[str, Any]]:
    contract = contract_of(route.handler)
    in_path = [
        {
            'name': name,
            'in': 'path',
            'required': True,
            'schema': contract.path.get(name, PATH_VALUES[name]),
        }
        for name in IN_BRACES.findall(route.path)
    ]
    in_query = [
        {'name': name, 'in': 'query', 'required': False, 'schema': schema}
        for name, schema in contract.query.items()
        if not any(name in one for one in contract.either)
    ]
    in_header = [
        {'name': name, 'in': 'header', 'required': False, 'schema': schema}
        for name, schema in contract.headers.items()
    ]
    return [*in_path, *in_query, *_either(contract), *in_header, _version_header(route)]


def _either(contract: Contract) -> list[dict[str, Any]]:
    """Parameters of which one group is given: as one object whose entries are parameters."""
    if not contract.either:
        return []
    groups = [
        {
            **record({name: contract.query[name] for name in one}, optional=one),
            'minProperties': 1,
        }
        for one in contract.either
    ]
    name = '_or_'.join(one[0] for one in contract.either)
    return [
        {
            'name': name,
            'in': 'query',
            'required': True,
            'style': 'form',
            'explode': True,
            'schema': {'type': 'object', 'oneOf': groups},
        }
    ]


def _version_header(route: Route) -> dict[str, Any]:
    if route.since == LOWEST:
        return VERSION_HEADER
    known = [f'{SERVICE_TYPE} {route.since}', f'{SERVICE_TYPE} latest']
    return {**VERSION_HEADER, 'required': True, 'schema': {'type': 'string', 'enum': known}}


def _responses(route: Route) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for status, schema in contract_of(route.handler).responses.items():
        answers[str(status)] = {'description': HTTPStatus(status).phrase}
        if schema is not None:
            answers[str(status)]['content'] = {'application/json': {'schema': schema}}
    for status in ERROR_STATUSES:
        answers[str(status)] = {
            'description': HTTPStatus(status).phrase,
            'content': {'application/json': {'schema': {'$ref': '#/components/schemas/Error'}}},
        }
    answers['429']['headers'] = {'Retry-After': {'required': True, 'schema': SECONDS}}
    return answers
