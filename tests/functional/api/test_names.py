# SPDX-License-Identifier: Apache-2.0
"""A name or a line of text shows what it is, wherever one is given: rule Q3 of specs/market.rst."""

import re

import pytest

from nova_market.api.contract import contract_of
from nova_market.api.routes import ROUTES
from nova_market.document_check import DocumentSchema
from tests.support.job_bed import host
from tests.support.lease_bed import publish_hosts
from tests.support.market.api import ALICE

pytestmark = pytest.mark.functional

MEMBER = f'member@{ALICE}'
WRONG = ('a\nb', 'a\r', '\u202eevil', 'a\u2066b', '\u200f', 'a\u2028b', '\x00', '\x85', '\ufeffa')
RIGHT = ('web', 'Straße 1', '計算', 'naïve café', '\U0001f600', 'a b')
LINES = (
    'name', 'description', 'purpose', 'image', 'flavor', 'flavors', 'hosts', 'aggregate', 'roles',
    'user_id',
)  # fmt: skip
"""Entries that are names or lines, in whatever document they are; others have patterns of letters."""


def entries(schema, path=()):
    """(path, schema) of each text that may be given."""
    for name, inner in schema.get('properties', {}).items():
        yield (*path, name), inner
        yield from entries(inner, (*path, name))
    inside = [schema['items']] if isinstance(schema.get('items'), dict) else []
    for one in (*inside, *schema.get('anyOf', ()), *schema.get('oneOf', ())):
        if path:
            yield path, one
        yield from entries(one, path)


GIVEN = [
    (route.name, path, schema)
    for route in ROUTES
    for path, schema in entries(contract_of(route.handler).body or {})
    if path[-1] in LINES
    and schema.get('type') == 'string'
    and not route.path.startswith('/v1/blazar')
]


def test_there_are_such_entries():
    """The test below looks at something."""
    assert {(route, path[-1]) for route, path, _ in GIVEN} >= {
        ('lease_create', 'name'), ('lease_create', 'purpose'), ('budget_create', 'name'),
        ('queue_create', 'description'), ('app_create', 'name'), ('account_update', 'name'),
        ('offer_create', 'name'), ('queue_create', 'aggregate'), ('queue_create', 'roles'),
        ('lease_create', 'hosts'),
    }  # fmt: skip


@pytest.mark.parametrize(
    ('route', 'path', 'schema'), GIVEN, ids=[f'{r}-{".".join(p)}' for r, p, _ in GIVEN]
)
def test_no_name_hides_what_it_is(route, path, schema):
    """No line end, no control character, nothing that turns the direction of writing."""
    checked = DocumentSchema(schema)
    assert not [one for one in WRONG if checked.allows(one)]


def test_names_of_leases_and_budgets(market):
    """As users give them; also when they are changed."""
    publish_hosts(market.stores.states, market.wall(), [host('h1')])
    body = {'duration': 60, 'cores': 1}
    for name in WRONG:
        for path, given in (('budgets', {}), ('leases', body)):
            answer = market.call('POST', f'/v1/{path}', MEMBER, json={**given, 'name': name})
            assert (answer.status_code, 'name' in answer.json['message']) == (400, True)
        answer = market.call('POST', '/v1/leases', MEMBER, json={**body, 'purpose': name})
        assert answer.status_code == 400
    for name in RIGHT:
        assert market.call('POST', '/v1/budgets', MEMBER, json={'name': name}).status_code == 201
        made = market.call('POST', '/v1/leases', MEMBER, json={**body, 'name': name})
        assert made.status_code != 400, made.text


def test_a_path_ends_no_line_of_a_log(market, caplog):
    """Whoever reads the log at DEBUG sees one line for each request."""
    caplog.set_level('DEBUG', 'nova_market.api.dispatch')
    for path in ('/v1/accounts/x%0AERROR%20all%20is%20lost', '/v1/a%0d%0ab', '/v1/%E2%80%AEx'):
        market.call('GET', path, MEMBER)
    lines = [one.getMessage() for one in caplog.records]
    assert len(lines) == 3 and all(one.isprintable() for one in lines), lines
    assert re.match(r'GET /v1/accounts/x ERROR all is lost: 404 ', lines[0])
