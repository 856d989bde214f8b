# SPDX-License-Identifier: Apache-2.0
"""Versions, the published description, errors of the server itself, health and metrics."""

import json

import pytest
from jsonschema import Draft202012Validator
from prometheus_client.parser import text_string_to_metric_families

from nova_market.api import microversion
from nova_market.api.routes import ROUTES
from nova_market.db.database import Database
from nova_market.errors import DatabaseUnavailable
from tests.support.market.api import ALICE, OPERATOR, make_market
from tests.support.market.rounds import add_round

pytestmark = pytest.mark.functional

READER, ADMIN = f'reader@{ALICE}', f'admin@{OPERATOR}'


def test_the_versions_are_served_without_a_token(market):
    """As keystoneauth discovers them; the links are the client's way in."""
    found = market.call('GET', '/', base_url='https://cloud.example/market').json
    version = found['versions'][0]
    assert (version['id'], version['status']) == ('v1', 'CURRENT')
    assert version['links'] == [{'rel': 'self', 'href': 'https://cloud.example/market/v1/'}]
    for path in ('/v1', '/v1/'):
        assert market.call('GET', path).json['version']['max_version'] == version['version']


@pytest.mark.parametrize(
    ('header', 'status', 'answered'),
    [
        (None, 200, 'market 1.1'),
        ('market 1.1', 200, 'market 1.1'),
        ('market latest', 200, f'market {microversion.NEWEST}'),
        ('compute 2.95, market 1.1', 200, 'market 1.1'),
        ('compute 2.95', 200, 'market 1.1'),
        ('market 1.99', 406, 'market 1.1'),
        ('market 2.1', 406, 'market 1.1'),
        ('market one', 400, 'market 1.1'),
        ('market 1.1.1', 400, 'market 1.1'),
    ],
)
def test_a_microversion_is_asked_for_by_header(market, header, status, answered):
    """Out of range 406 with the range, malformed 400; every answer says which one answered."""
    headers = {'OpenStack-API-Version': header} if header else {}
    answer = market.call('GET', '/v1/prices', READER, headers=headers)
    assert answer.status_code == status
    assert answer.headers['OpenStack-API-Version'] == answered
    assert 'OpenStack-API-Version' in answer.headers['Vary']
    if status == 406:
        error = answer.json['errors'][0]
        assert (error['min_version'], error['max_version']) == ('1.1', str(microversion.NEWEST))


def test_an_error_has_both_forms_and_the_request(market):
    """What keystoneauth reads and what openstacksdk reads, with the request's id."""
    answer = market.call('GET', '/v1/nothing', READER)
    error = answer.json['errors'][0]
    assert (answer.status_code, error['code']) == (404, 'market.route.not_found')
    assert error['request_id'] == answer.headers['X-Openstack-Request-Id']
    assert answer.json['message'] == error['detail']
    wrong = market.call('DELETE', '/v1/prices', READER)
    assert (wrong.status_code, wrong.headers['Allow']) == (405, 'GET, HEAD')


def test_a_claimed_identity_is_not_believed(market):
    """Headers of a client that say who he is count for nothing."""
    headers = {'X-Identity-Status': 'Confirmed', 'X-Roles': 'admin', 'X-Project-Id': OPERATOR}
    assert market.call('GET', '/v1/hosts', headers=headers).status_code == 401


def test_a_fault_of_ours_says_nothing_of_the_inside(market, monkeypatch):
    """500 without a trace of the code; a database that is away is 503."""

    def broken(*_args, **_named):
        raise RuntimeError('secret inside')

    monkeypatch.setattr(market.stores.history, 'rounds', broken)
    answer = market.call('GET', '/v1/rounds', READER)
    assert (answer.status_code, 'secret' in answer.text) == (500, False)
    assert answer.json['errors'][0]['code'] == 'market.internal'

    def away(*_args, **_named):
        raise DatabaseUnavailable('10.0.0.7 is away')

    monkeypatch.setattr(market.stores.history, 'rounds', away)
    answer = market.call('GET', '/v1/rounds', READER)
    assert (answer.status_code, '10.0.0.7' in answer.text) == (503, False)


def test_the_description_is_openapi_with_valid_schemas(market):
    """Every route is in it, every schema is one, and operations have names of their own."""
    document = market.call('GET', '/v1/openapi.json').json
    assert document['openapi'] == '3.1.0'
    operations = [one for path in document['paths'].values() for one in path.values()]
    assert len(operations) == len(ROUTES) == len({one['operationId'] for one in operations})
    for operation in operations:
        for parameter in operation['parameters']:
            Draft202012Validator.check_schema(parameter['schema'])
        for response in operation['responses'].values():
            for content in response.get('content', {}).values():
                Draft202012Validator.check_schema(content['schema'])


def test_a_response_that_breaks_its_schema_is_found(market, monkeypatch):
    """In tests it is an error: the schemas can fail."""
    monkeypatch.setattr(market.stores.history, 'rounds', lambda *_a, **_n: [_round('no state')])
    assert market.call('GET', '/v1/rounds', READER).status_code == 500


def _round(state):
    from nova_market.core.market.record import RoundRecord

    return RoundRecord(period=1, leader='', started_at=0.0, state=state, document={})


def test_health_needs_no_token(market):
    """What a load balancer asks."""
    assert market.call('GET', '/healthcheck').status_code == 200


def test_metrics_are_served_only_when_enabled_and_to_who_has_the_token(market, empty_tables):
    """Balances are everybody's business only for who may read them."""
    assert market.call('GET', '/metrics').status_code == 404
    open_ = make_market(market.database, metrics_token='tell-me', new_weight=3.0)
    add_round(open_)
    path = f'/v1/accounts/project:{ALICE}/grants'
    assert open_.call('POST', path, ADMIN, json={'amount': 2_500_000}).status_code == 201
    assert open_.call('GET', '/metrics').status_code == 401
    wrong = {'Authorization': 'Bearer nothing'}
    assert open_.call('GET', '/metrics', headers=wrong).status_code == 401
    answer = open_.call('GET', '/metrics', headers={'Authorization': 'Bearer tell-me'})
    samples = {
        (sample.name, sample.labels.get('project', sample.labels.get('resource', ''))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert samples['nova_market_api_balance_credits', ALICE] == 2.5
    assert samples['nova_market_api_issued_credits', ''] == 2.5
    assert samples['nova_market_api_project_weight', ALICE] == 3.0
    assert samples['nova_market_api_price_credits', 'cpu'] == 0.0002
    # nova_market_* is the engine's: series of one name must have the same labels everywhere
    assert {name for name, _ in samples if not name.startswith('nova_market_api_')} == set()


def test_a_database_without_tables_is_reported(tmp_path):
    """503 until "nova-market-manage db sync" has run."""
    database = Database({'connection': f'sqlite:///{tmp_path}/nothing.sqlite'})
    answer = make_market(database).call('GET', '/v1/prices', READER)
    assert (answer.status_code, json.loads(answer.text)['errors'][0]['code']) == (
        503,
        'market.database.behind',
    )
    database.close()
