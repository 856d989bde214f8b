# SPDX-License-Identifier: Apache-2.0
"""Sphinx directives: what the API has, from the same tables that it serves by.

`market-api-reference`: every route, from the description that it publishes
`market-spending`: who may spend, from the list of routes that move credits and the default policies
"""

from collections.abc import Iterator, Mapping
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from nova_market.api.microversion import HEADER
from nova_market.api.openapi import description
from nova_market.api.policies import get_enforcer
from nova_market.api.policies.spending import table

Schema = Mapping[str, Any]


class Reference(SphinxDirective):
    """No arguments: every route."""

    def run(self) -> list[nodes.Node]:
        lines = StringList(list(_reference()), source='nova_market/api/openapi.py')
        section = nodes.section()
        section.document = self.state.document
        self.state.nested_parse(lines, 0, section, match_titles=True)
        return section.children


class Spending(SphinxDirective):
    """No arguments: every route that moves credits."""

    def run(self) -> list[nodes.Node]:
        lines = StringList(list(_spending()), source='nova_market/api/policies/spending.py')
        return self.parse_text_to_nodes(lines)


def _spending() -> Iterator[str]:
    yield from ('.. list-table::', '   :header-rows: 1', '   :widths: 30 26 22 22', '')
    for row in (('Route', 'What moves', 'Rule', 'Who'), *table(get_enforcer())):
        yield from (f'   {"* -" if n == 0 else "  -"} {text}' for n, text in enumerate(row))
    yield ''


def _reference() -> Iterator[str]:
    for path, operations in description()['paths'].items():
        for method, operation in operations.items():
            title = f'{method.upper()} {path}'
            yield from ('', title, '-' * len(title), '', operation['summary'], '')
            yield from (f'Costs {operation["x-cost"]}.', '')
            given = [one for one in operation['parameters'] if one['name'] != HEADER]
            yield from _table('Parameter', [row for one in given for row in _parameter(one)])
            if 'requestBody' in operation:
                yield from ('Request', '')
                yield from _fields(
                    operation['requestBody']['content']['application/json']['schema']
                )
            for status, answer in operation['responses'].items():
                if int(status) < 400:
                    yield from (f'Response {status}', '')
                    content = answer.get('content', {}).get('application/json')
                    yield from _fields(content['schema']) if content else ('    nothing', '')


def _parameter(one: Mapping[str, Any]) -> Iterator[tuple[str, Schema]]:
    """One row, or those of an object whose entries are parameters."""
    for group in one['schema'].get('oneOf', ()):
        for name, schema in group['properties'].items():
            yield f'{name} ({one["in"]})', schema
    if 'oneOf' not in one['schema']:
        yield f'{one["name"]} ({one["in"]})', one['schema']


def _fields(schema: Schema) -> Iterator[str]:
    """A table of an object's properties; those of one inside, by dotted names."""
    yield from _table('Property', list(_named(schema, '')), schema.get('required', ()))


def _named(schema: Schema, prefix: str) -> Iterator[tuple[str, Schema]]:
    for name, inner in schema.get('properties', {}).items():
        item = inner.get('items', inner)
        if 'properties' in item and not name.endswith('_links'):
            yield from _named(item, f'{prefix}{name}{"[]" if item is not inner else ""}.')
        else:
            yield f'{prefix}{name}', inner


def _table(title: str, rows: list[tuple[str, Schema]], required: Any = ()) -> Iterator[str]:
    if not rows:
        return
    yield from ('.. list-table::', '   :header-rows: 1', '   :widths: 30 25 45', '')
    yield from (f'   * - {title}', '     - Type', '     - Meaning')
    for name, schema in rows:
        text = schema.get('description', '')
        text = text or next((s.get('description', '') for s in schema.get('anyOf', [])), '')
        yield from (f'   * - ``{name}``', f'     - {_type(schema)}', f'     - {text}')
    yield ''


def _type(schema: Schema) -> str:
    if 'anyOf' in schema:
        return ' or '.join(_type(one) for one in schema['anyOf'])
    if 'enum' in schema:
        return ', '.join(f'``{value}``' for value in schema['enum'])
    low = schema.get('minimum', schema.get('exclusiveMinimum'))
    high = schema.get('maximum')
    bounds = f', {low} to {high}' if low is not None and high is not None else ''
    return f'{schema.get("type", "any")}{bounds}'


def setup(app: Sphinx) -> Mapping[str, bool]:
    app.add_directive('market-api-reference', Reference)
    app.add_directive('market-spending', Spending)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
