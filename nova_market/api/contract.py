# SPDX-License-Identifier: Apache-2.0
"""What a handler takes and gives, as JSON schemas (2020-12) attached to it by decorators.

The same schemas check requests and responses and are published by openapi.py, so what is published is
what is enforced.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from nova_market.api.errors import ApiError
from nova_market.document_check import DocumentSchema, Schema, entry_name
from nova_market.errors import BadDocument

Handler = TypeVar('Handler', bound=Callable[..., Any])

INTEGER = re.compile(r'-?\d{1,19}', re.ASCII)
NUMBER = re.compile(r'-?\d{1,19}(\.\d{1,19})?([eE][+-]?\d{1,3})?', re.ASCII)
MAX_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainForm:
    """A handler's documents as text/plain too, for clients without JSON: read as the schema of the body.

    read, write: from and to bytes; a request in this form is answered in it
    :raises ApiError: by `read`: 400
    """

    read: Callable[[bytes, Mapping[str, Any]], object]
    write: Callable[[Any], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """query, body: None where nothing is taken; responses: schema by status, None without a body.

    either: groups of query parameters of which a request gives one or several of one group
    path:   what is narrower than everywhere; plain: None where documents are JSON only
    """

    path: Schema = field(default_factory=dict)
    either: tuple[tuple[str, ...], ...] = ()
    query: Schema = field(default_factory=dict)
    body: Schema | None = None
    headers: Schema = field(default_factory=dict)
    responses: Mapping[int, Schema | None] = field(default_factory=dict)
    plain: PlainForm | None = None
    validators: Mapping[object, DocumentSchema] = field(default_factory=dict)


def contract_of(handler: Callable[..., Any]) -> Contract:
    """What was attached to a handler."""
    found: Contract = getattr(handler, 'contract', Contract())
    return found


def takes_query(**parameters: Schema) -> Callable[[Handler], Handler]:
    """Query parameters, by name; no others are taken."""
    schema = {'type': 'object', 'properties': parameters, 'additionalProperties': False}
    return _attach('query', schema, lambda contract: replace(contract, query=parameters))


def takes_either(*groups: tuple[str, ...]) -> Callable[[Handler], Handler]:
    """Query parameters of which one of these groups has to be given, whole or in part."""
    return _changed(lambda contract: replace(contract, either=groups))


def takes_path(**parts: Schema) -> Callable[[Handler], Handler]:
    """What may stand in its path, where that is less than what may stand there elsewhere."""
    made: dict[object, DocumentSchema] = {
        ('path', name): DocumentSchema(one) for name, one in parts.items()
    }
    return _changed(
        lambda contract: replace(contract, path=parts, validators={**contract.validators, **made})
    )


def takes_header(name: str, schema: Schema) -> Callable[[Handler], Handler]:
    """A header that may be given."""
    return _attach(
        ('header', name),
        schema,
        lambda contract: replace(contract, headers={**contract.headers, name: schema}),
    )


def takes_body(schema: Schema) -> Callable[[Handler], Handler]:
    """A JSON document."""
    return _attach('body', schema, lambda contract: replace(contract, body=schema))


def takes_plain(form: PlainForm) -> Callable[[Handler], Handler]:
    """The same document as text/plain."""
    return _changed(lambda contract: replace(contract, plain=form))


def gives(status: int, schema: Schema | None = None) -> Callable[[Handler], Handler]:
    """A response; several make several lines."""
    return _attach(
        status,
        schema or {},
        lambda contract: replace(contract, responses={**contract.responses, status: schema}),
    )


def _attach(
    key: object, schema: Schema, change: Callable[[Contract], Contract]
) -> Callable[[Handler], Handler]:
    # a response may hold NaN, which is encoded as null
    made = {key: DocumentSchema(schema, finite=not isinstance(key, int))}
    return _changed(
        lambda contract: change(replace(contract, validators={**contract.validators, **made}))
    )


def _changed(change: Callable[[Contract], Contract]) -> Callable[[Handler], Handler]:
    def attach(handler: Handler) -> Handler:
        handler.contract = change(contract_of(handler))  # type: ignore[attr-defined]
        return handler

    return attach


def checked_query(contract: Contract, given: Mapping[str, list[str]]) -> dict[str, Any]:
    """Query parameters with numbers as numbers and defaults filled in.

    :raises ApiError: 400; names the parameter, its value and the rule it breaks.
    """
    values: dict[str, Any] = {
        name: schema['default'] for name, schema in contract.query.items() if 'default' in schema
    }
    for name, texts in given.items():
        if len(texts) != 1:
            raise ApiError(
                400, 'market.request.invalid', f'{name:.80} is given twice: give it once'
            )
        values[name] = as_value(texts[0], contract.query.get(name, {}))
    validator = contract.validators.get('query') or NOTHING
    _check(validator, values, 'query')
    if contract.either and sum(any(n in given for n in one) for one in contract.either) != 1:
        groups = ', or '.join(' and '.join(one) for one in contract.either)
        raise ApiError(400, 'market.request.invalid', f'give either {groups}')
    return values


def checked_body(contract: Contract, text: bytes, plain: PlainForm | None = None) -> Any:
    """The request's document. plain: the form it has when it is not JSON.

    :raises ApiError: 400; not JSON, or which value breaks which rule.
    """
    if contract.body is None:
        return None  # some clients send {} with every POST
    value = plain.read(text, contract.body) if plain else parsed(text)
    _check(contract.validators['body'], value, 'body')
    return value


def in_path(contract: Contract, name: str, text: str) -> bool:
    """Whether it may stand in the path of this handler."""
    validator = contract.validators.get(('path', name))
    return validator is None or validator.allows(text)


def path_check(schema: Schema) -> Callable[[str], bool]:
    """Whether a part of a path can name anything."""
    checked = DocumentSchema(schema)
    return lambda text: checked.allows(as_value(text, schema))


def checked_header(contract: Contract, name: str, text: str | None) -> str | None:
    """:raises ApiError: 400, when it is given and breaks its schema."""
    if text is not None:
        _check(contract.validators['header', name], text, f'header {name}')
    return text


def check_response(contract: Contract, status: int, body: object) -> None:
    """:raises BadDocument: a response of ours breaks its schema, or has none."""
    if status not in contract.responses:
        raise BadDocument((), f'status {status} is not declared')
    contract.validators[status].check(body)


def parsed(text: bytes) -> Any:
    """JSON with finite numbers and text that can be stored.

    :raises ApiError: 400; names what is wrong.
    """
    try:
        value = json.loads(text.decode(), parse_constant=_refused, parse_float=_number)
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ApiError(400, 'market.request.malformed', 'the body is nested too deeply') from None
    except ValueError as error:  # UnicodeError and JSONDecodeError too
        raise ApiError(
            400, 'market.request.malformed', f'the body is not JSON: {error!s:.{MAX_SHOWN}}'
        ) from None
    return value


NOTHING = DocumentSchema({'type': 'object', 'additionalProperties': False})


def _check(schema: DocumentSchema, value: object, where: str) -> None:
    try:
        schema.check(value)
    except BadDocument as error:
        path = entry_name(error.path)
        name = f'{path} in the {where}' if path else where
        detail = f'{name:.{MAX_SHOWN}}: {error.problem:.{2 * MAX_SHOWN}}'
        raise ApiError(400, 'market.request.invalid', detail) from None


def as_value(text: str, schema: Schema) -> Any:
    """A number or a truth value where the schema wants one; what is none stays a text, for it to refuse."""
    kind = schema.get('type')
    if kind == 'integer' and INTEGER.fullmatch(text):
        return int(text)
    if kind == 'number' and NUMBER.fullmatch(text) and math.isfinite(found := float(text)):
        return found
    if kind == 'boolean' and text in {'true', 'false'}:
        return text == 'true'
    return text


def _number(text: str) -> float | int:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f'{text:.80} is too large for a number')
    return int(value) if value.is_integer() and abs(value) <= 2**53 else value


def _refused(text: str) -> None:
    raise ValueError(f'{text} is no number of JSON')
