# SPDX-License-Identifier: Apache-2.0
"""Checks documents that people write against JSON Schemas: request bodies, templates, scenarios.

An error names the entry, its value and what it may be. NaN and infinity are no numbers here, as in JSON.
In a pattern `$` is the end of the text, as in JSON Schema (ECMA-262): in Python it also matches before a last
newline.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, cast

from jsonschema import Draft202012Validator, TypeChecker, ValidationError, validators

from nova_market.core.text import shown
from nova_market.errors import BadDocument

Schema = Mapping[str, Any]

MOST_FOUND = 3
"""Entries that an error names of those that it found."""


def _is_finite(checker: TypeChecker, value: object) -> bool:
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return bool(Draft202012Validator.TYPE_CHECKER.is_type(value, 'number'))


def _pattern_rule(
    validator: object, pattern: str, instance: object, schema: Schema
) -> Iterator[ValidationError]:
    """The keyword `pattern`. In our patterns `$` stands only for the end."""
    if isinstance(instance, str) and not re.search(pattern.replace('$', r'\Z'), instance):
        yield ValidationError(f'{instance!r} does not match {pattern!r}')


Validator = validators.extend(  # type: ignore[no-untyped-call]  # jsonschema has no hint for it
    Draft202012Validator,
    validators={'pattern': _pattern_rule},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine('number', _is_finite),
)


class DocumentSchema:
    """A schema that documents are checked against. For many threads."""

    def __init__(self, schema: Schema, *, finite: bool = True) -> None:
        """finite: refuse NaN and infinity.

        :raises jsonschema.SchemaError: it is no JSON Schema.
        """
        Draft202012Validator.check_schema(schema)
        self._validator = (Validator if finite else Draft202012Validator)(schema)

    def allows(self, document: object) -> bool:
        """Whether it keeps every rule."""
        return bool(self._validator.is_valid(document))

    def check(self, document: object) -> None:
        """:raises BadDocument: names the first entry that breaks a rule, its value and what it may be."""
        error = next(iter(self._validator.iter_errors(document)), None)
        if error is not None:
            found = _decisive(error)
            raise BadDocument(tuple(found.absolute_path), _problem(found))


def entry_name(path: Sequence[str | int]) -> str:
    """An entry as people write it: components[0].name; '' for the whole document."""
    return ''.join(f'[{one}]' if isinstance(one, int) else f'.{one}' for one in path).lstrip('.')


def _decisive(error: ValidationError) -> ValidationError:
    """The error inside the alternative that was meant, when it is clear which one was meant."""
    while error.validator in ('anyOf', 'oneOf'):
        branch = _meant(error)
        inside = [one for one in error.context or () if one.schema_path[0] == branch]
        if branch is None or not inside:
            return error
        error = inside[0]
    return error


def _meant(error: ValidationError) -> int | None:
    """Which alternative: the only one of this type, or the only one whose first entry is there."""
    instance, branches = error.instance, _rule(error)
    names = _alternatives(branches)
    same = [n for n, one in enumerate(branches) if _same_type(instance, one.get('type'))]
    if len(same) > 1 and isinstance(instance, Mapping):
        same = [n for n in same if names[n] in instance]
    return same[0] if len(same) == 1 else None


def _rule(error: ValidationError) -> Any:
    """What the keyword of the schema demands that is broken; jsonschema's hint allows for none."""
    return error.validator_value


def _same_type(instance: object, name: str | None) -> bool:
    """Whether a value is the object or the list that an alternative wants; of other types, none is meant."""
    if name is None:
        return True
    return (name == 'object' and isinstance(instance, Mapping)) or (
        name == 'array' and isinstance(instance, list)
    )


def _alternatives(branches: Iterable[Schema]) -> list[str]:
    """The entry by which each alternative of an object is known; '' where it has none."""
    return [next(iter(one.get('required', ())), '') for one in branches]


def _problem(error: ValidationError) -> str:
    """What is wrong with the value of an entry, and what to give."""
    instance, value = cast(Any, error.instance), _rule(error)
    schema = cast(Mapping[str, Any], error.schema)
    match error.validator:
        case 'required':
            missing = next(name for name in value if name not in instance)
            known = schema.get('properties', {})
            what = wanted(known.get(missing, {}))
            near = get_close_matches(missing, [str(n) for n in instance if n not in known], n=1)
            instead = f', {shown(near[0])} is not known' if near else ''
            return f'{missing} is missing{instead}: give it{what and f", {what}"}'
        case 'additionalProperties' if value is False:
            known = schema.get('properties', {})
            unknown = next(name for name in instance if name not in known)
            near = get_close_matches(str(unknown), known, n=1)
            meant = f'did you mean {near[0]}? Give ' if near else 'give '
            return f'{shown(unknown)} is not known: {meant}{", ".join(known) or "none"}'
        case 'dependentRequired':
            name, needed = next(
                (name, one)
                for name, needs in value.items()
                for one in needs
                if name in instance and one not in instance
            )
            return f'{name} needs {needed}: give both, or none'
        case 'anyOf' | 'oneOf' if isinstance(instance, Mapping) and any(_alternatives(value)):
            names = _alternatives(value)
            how = 'at least one' if error.validator == 'anyOf' else 'one'
            found = [name for name in names if name in instance] or [shown(n) for n in instance]
            listed = ', '.join(found[:MOST_FOUND]) or 'none'
            return f'give {how} of {", ".join(filter(None, names))}; found {listed}'
        case 'type' if schema.get('type') == 'array' and not isinstance(instance, Mapping):
            if DocumentSchema(schema).allows([instance]):
                return f'{_given(instance)}: give {wanted({**schema, "examples": [[instance]]})}'
    given = _given(instance)
    if error.validator == 'maxLength':  # what is too long may be a file, and hold secrets
        given = f'a text of {len(instance)} characters'
    return f'{given}: give {wanted(schema)}'


def wanted(schema: Schema) -> str:
    """What a value may be, in words; '' where a schema tells nothing."""
    text = _form(schema) if schema else ''
    description = schema.get('description')
    if 'pattern' in schema and description:
        return str(description)
    return f'{text} ({description})' if description else text


def _form(schema: Schema) -> str:
    if 'const' in schema:
        return json.dumps(schema['const'])
    if 'enum' in schema:
        return f'one of {", ".join(str(one) for one in schema["enum"])}'
    for several in ('anyOf', 'oneOf'):
        if several in schema and _is_choice(schema[several]):
            names = ', '.join(_alternatives(schema[several]))
            how = 'at least one' if several == 'anyOf' else 'one'
            return f'an object with {how} of {names}{_such_as(schema)}'
        if several in schema and 'type' not in schema:
            return ' or '.join(wanted(one) for one in schema[several])
    match schema.get('type'):
        case 'integer':
            return f'a whole number{_range(schema)}'
        case 'number':
            return f'a number{_range(schema)}'
        case 'string':
            return f'a text{_length(schema, "Length", " characters")}{_pattern(schema)}'
        case 'array':
            once = ', each once' if schema.get('uniqueItems') else ''
            return f'a list{_length(schema, "Items", "")}{once}{_such_as(schema)}'
        case 'object':
            return f'an object{_entries(schema)}{_length(schema, "Properties", " entries")}{_such_as(schema)}'
        case 'boolean':
            return 'true or false'
    return str(schema.get('type', 'another value'))


def _range(schema: Schema) -> str:
    least, most, above = (schema.get(n) for n in ('minimum', 'maximum', 'exclusiveMinimum'))
    if above is not None:
        return f' above {above:g}' + ('' if most is None else f', at most {_number(most)}')
    if least is None:
        return '' if most is None else f', at most {_number(most)}'
    return f' from {_number(least)}' + ('' if most is None else f' to {_number(most)}')


def _length(schema: Schema, of: str, unit: str) -> str:
    least, most = schema.get(f'min{of}'), schema.get(f'max{of}')
    if least is None and most is None:
        return ''
    if most is None:
        return f' of at least {least}{unit}'
    if least == most:
        return f' of {most}{unit}'
    return f' of {least} to {most}{unit}' if least else f' of at most {most}{unit}'


def _pattern(schema: Schema) -> str:
    return f' of the form {schema["pattern"]}' if 'pattern' in schema else ''


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f'{value:g}'


def _is_choice(branches: Iterable[Schema]) -> bool:
    """Are all alternatives objects, each known by its first entry?"""
    return all(one.get('type') == 'object' and one.get('required') for one in branches)


def _entries(schema: Schema) -> str:
    """Which entries an object has: those it needs, and the others."""
    needed = list(schema.get('required', ()))
    others = [name for name in schema.get('properties', {}) if name not in needed]
    if not needed:
        return f' with any of {", ".join(others)}' if others else ''
    more = f' and, if you like, {", ".join(others)}' if others else ''
    return f' with {", ".join(needed)}{more}'


def _such_as(schema: Schema) -> str:
    example = _example(schema)
    return '' if example in (None, {}) else f', such as {_flow(example)}'


def _example(schema: Schema) -> Any:
    """A value that the schema allows, as small as it may be; None where none is known."""
    if 'examples' in schema:
        return schema['examples'][0]
    if 'const' in schema or 'enum' in schema:
        return schema.get('const', next(iter(schema.get('enum', ())), None))
    for several in ('oneOf', 'anyOf'):
        if several in schema:
            found = (_example(one) for one in schema[several])
            return next((one for one in found if one is not None), None)
    match schema.get('type'):
        case 'integer' | 'number':
            least, most = schema.get('minimum', 0), schema.get('maximum', math.inf)
            return min(max(least, 1), most)
        case 'object':
            parts = {
                name: _example(schema['properties'][name]) for name in schema.get('required', ())
            }
            return None if None in parts.values() else parts
        case 'array' if schema.get('minItems', 0) <= 1:
            one = _example(schema.get('items', {}))
            return None if one is None else [one]
    return None


def _given(value: object) -> str:
    """A refused value as people write it."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (Mapping, list)) and not value:
        return _flow(value)
    return shown(value)


def _flow(value: object) -> str:
    """A small value as YAML has it on one line."""
    if isinstance(value, Mapping):
        return '{' + ', '.join(f'{name}: {_flow(one)}' for name, one in value.items()) + '}'
    if isinstance(value, list):
        return '[' + ', '.join(_flow(one) for one in value) + ']'
    return value[:40] if isinstance(value, str) else json.dumps(value)
