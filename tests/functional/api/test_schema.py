# SPDX-License-Identifier: Apache-2.0
"""Generated requests, valid and not, against the published schema.

No answer is a fault of the server, each has a status and a body as published, and what breaks a schema is
refused; after all of them every micro-credit is where the postings say.
"""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from nova_market.api.routes import ROUTES
from nova_market.db import schema as tables
from nova_market.db.database import Database
from tests.support.market.api import ALICE, OPERATOR, make_market
from tests.support.market.rounds import add_plan, add_round

pytestmark = pytest.mark.functional


def too_long_or_rejected(ctx, response, case):
    """What is longer than any request may be is refused before anybody looks what is wrong with it."""
    return None if response.status_code == 413 else negative_data_rejection(ctx, response, case)


CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    too_long_or_rejected,
]
EXAMPLES = 15


@pytest.fixture(scope='module')
def serving(tmp_path_factory):
    """One market for all generated requests, so that they meet what others left."""
    path = tmp_path_factory.mktemp('schema') / 'market.sqlite'
    database = Database({'connection': f'sqlite:///{path}'})
    tables.sync(database)
    market = make_market(database, max_budgets=9000)
    add_round(market)
    add_plan(market)
    yield market
    assert market.stores.ledger.discrepancies() == []
    database.close()


@pytest.fixture(scope='module')
def published(serving):
    return schemathesis.openapi.from_wsgi('/v1/openapi.json', serving.application)


@pytest.mark.parametrize(
    'role', [f'admin@{OPERATOR}', f'manager@{ALICE}'], ids=['admin', 'manager']
)
@pytest.mark.parametrize('route', ROUTES, ids=lambda route: f'{route.method} {route.path}')
def test_generated_requests_are_answered_as_published(published, route, role):
    """Each route, with a token that may do all and with a tenant's."""
    operation = published[route.path][route.method]
    token = {'X-Auth-Token': role}
    strategy = operation.as_strategy(headers=token) | operation.as_strategy(
        generation_mode=schemathesis.GenerationMode.NEGATIVE, headers=token
    )

    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(case=strategy)
    def run(case):
        case.call_and_validate(checks=CHECKS)

    run()


NARROW = (
    ('GET', '/v1/prices/quote'),
    ('GET', '/v1/prices/history'),
    ('POST', '/v1/accounts/{account_id}/grants'),
    ('POST', '/v1/accounts/{account_id}/revocations'),
    ('GET', '/v1/leases'),
    ('GET', '/v1/queues/{queue_id}/stats'),
)
"""Routes whose handlers refused for their form what the schema allowed."""

NO_FORM = ('exchange them', 'is not in the years 1 to 9999 in UTC', 'would have more than')
"""An order of two times, a zone at the end of time, what an account can hold."""


@pytest.mark.parametrize(('method', 'path'), NARROW, ids=[' '.join(one) for one in NARROW])
def test_what_the_schema_allows_has_a_right_form(published, method, path):
    """A client that keeps to the published description is never told that its request is malformed."""
    operation = published[path][method]
    token = {'X-Auth-Token': f'admin@{OPERATOR}'}

    @settings(
        max_examples=60,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(case=operation.as_strategy(headers=token))
    def run(case):
        answer = case.call()
        if answer.status_code == 400 and not any(one in answer.text for one in NO_FORM):
            raise AssertionError(f'{case.query} {case.path_parameters} {case.body}: {answer.text}')

    run()
