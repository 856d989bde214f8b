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


PRINTABLE = (
    '^[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff]*$'
)
"""One line that shows what it is: no control characters, line ends, or marks that turn the direction of
writing (Q3 of doc/source/specs/market.rst)."""


def printable(most: int, least: int = 0) -> Schema:
    """A name or a line of text, of so many characters."""
    return {
        'type': 'string',
        'minLength': least,
        'maxLength': most,
        'pattern': PRINTABLE,
        'description': f'a printable text of {least} to {most} characters',
    }


NAME: Schema = printable(255, 1)
LEAP = '(0[48]|[2468][048]|[13579][26])'
"""Two digits of a number that 4 divides, other than 00."""

WHEN: Schema = {
    'type': 'string',
    'pattern': (
        '^(?!0000)([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])'
        '|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))'
        f'|([0-9]{{2}}{LEAP}|{LEAP}00)-02-29)'
        'T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])?$'
    ),
    'description': FORM,
    'examples': ['2026-11-21T12:00:00Z'],
}
