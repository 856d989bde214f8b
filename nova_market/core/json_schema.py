# SPDX-License-Identifier: Apache-2.0
"""Building blocks of JSON Schemas (2020-12) as values; nova_market.document_check checks documents with them.

A `description` explains an entry, and errors repeat it; that of a pattern says what to give.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from nova_market.core.timestamp import FORM

Schema = dict[str, Any]


def described(schema: Mapping[str, Any], text: str, **more: Any) -> Schema:
    """A schema with a description."""
    return {**schema, 'description': text, **more}


def record(properties: Mapping[str, Any], optional: Sequence[str] = ()) -> Schema:
    """An object of exactly these properties."""
    return {
        'type': 'object',
        'properties': dict(properties),
        'required': [name for name in properties if name not in optional],
        'additionalProperties': False,
    }


def nullable(schema: Schema) -> Schema:
    """The same or null."""
    return {'anyOf': [schema, {'type': 'null'}]}


NAME: Schema = {
    'type': 'string',
    'minLength': 1,
    'maxLength': 255,
    'pattern': '^[^\\u0000-\\u001f\\u007f]*$',
    'description': 'a printable text of 1 to 255 characters',
}
WHEN: Schema = {
    'type': 'string',
    'pattern': (
        '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])'
        'T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](Z|[+-][0-9]{2}:[0-9]{2})?$'
    ),
    'description': FORM,
}
