# SPDX-License-Identifier: Apache-2.0
"""Bodies of requests to the API: JSON for every route that takes some, and the text of workers."""

import json

from nova_market.api.contract import checked_body, contract_of
from nova_market.api.errors import ApiError
from nova_market.api.routes import ROUTES
from nova_market.document_check import DocumentSchema

CONTRACTS = tuple(
    contract for one in ROUTES if (contract := contract_of(one.handler)).body is not None
)
"""The first byte of an input says which one; the rest is the body."""

TEXTS = tuple(contract for contract in CONTRACTS if contract.plain is not None)


WORDS = (
    'name', '00000000-0000-4000-8000-0000000000aa', 43 * 'a', 32 * 'a', 16 * 'a', 'project:x',
    '2027-01-15T08:00:00Z', '#!/bin/sh\n', 'https://example.org/',
)  # fmt: skip
"""Texts of which the first one is taken that a schema allows."""


def example(schema):
    """A document that has every property, most of them right."""
    for word in ('const', 'default'):
        if word in schema:
            return schema[word]
    if 'enum' in schema:
        return schema['enum'][0]
    for word in ('anyOf', 'oneOf', 'allOf'):
        if word in schema and 'properties' not in schema:
            return example(schema[word][0])
    kind = schema.get('type', 'object')
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == 'object':
        return {name: example(one) for name, one in schema.get('properties', {}).items()}
    if kind == 'array':
        return [example(schema.get('items', {'type': 'string'}))]
    if kind == 'string':
        allowed = DocumentSchema(schema).allows
        return next((one for one in WORDS if allowed(one)), WORDS[0])
    least = schema.get('minimum', 1)
    return {'integer': least, 'number': least, 'boolean': True}.get(kind)


def line(name, schema):
    """Of a text of a worker."""
    value = example(schema)
    return f'{name}={str(value).lower() if isinstance(value, bool) else value}\n'.encode()


def body(data):
    contract = CONTRACTS[(data[0] if data else 0) % len(CONTRACTS)]
    checked_body(contract, data[1:])


def text(data):
    contract = TEXTS[(data[0] if data else 0) % len(TEXTS)]
    checked_body(contract, data[1:], contract.plain)


TARGETS = {
    'nova_market.api.contract.checked_body': {
        'decode': body,
        'seeds': tuple(
            bytes([number]) + json.dumps(example(contract.body)).encode()
            for number, contract in enumerate(CONTRACTS)
        ),
        'errors': (ApiError,),
    },
    'nova_market.api.worker_text.read': {
        'decode': text,
        'seeds': tuple(
            bytes([number])
            + b''.join(
                line(name, one)
                for name, one in contract.body['properties'].items()
                if name != 'output'  # which follows as it is
            )
            + b'\n\0\xff output'
            for number, contract in enumerate(TEXTS)
        ),
        'errors': (ApiError,),
    },
}
