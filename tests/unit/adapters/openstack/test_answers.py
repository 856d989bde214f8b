# SPDX-License-Identifier: Apache-2.0
"""Lists of Nova page by page, and what failed requests mean."""

from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from keystoneauth1 import exceptions as keystone_errors
from openstack import exceptions as sdk_errors

from nova_market.adapters.openstack.answers import MAX_PAGES, items, translated, unavailable
from nova_market.errors import CloudAway, CloudRefused, CloudUnavailable


class Nova:
    """A list of items, `page` of them in an answer; asked: the query of each request."""

    def __init__(self, ids, page=2, unknown=()):
        self.ids, self.page, self.unknown = ids, page, unknown
        self.asked = []

    def __call__(self, path):
        query = {k: v[0] for k, v in parse_qs(urlsplit(path).query).items()}
        self.asked.append(query)
        first = int(query.get('offset', 0))
        if 'marker' in query:
            first = self.ids.index(query['marker']) + 1
        page = self.ids[first : first + min(self.page, int(query.get('limit', self.page)))]
        found = [{'id': one, 'status': 'UNKNOWN' if one in self.unknown else 'OK'} for one in page]
        more = {'servers_links': ['next']} if first + len(page) < len(self.ids) else {}
        return {'servers': found} | more


def ids(found):
    return [one['id'] for one in found]


@pytest.mark.parametrize('path', ['/servers', '/servers?all_tenants=1'])
def test_pages_follow_each_other_by_marker(path):
    """Each begins behind the last item of the one before, whatever is in its id."""
    nova = Nova(['a', 'b&c', 'd', 'e f', 'g'])
    assert ids(items(nova, path, 'servers', limit=10)) == nova.ids
    assert [query.get('marker') for query in nova.asked] == [None, 'b&c', 'e f']
    assert all(query['limit'] == '10' for query in nova.asked)
    assert all(query.get('all_tenants') == ('1' if '?' in path else None) for query in nova.asked)


def test_without_a_limit_nova_chooses():
    """A limit has it leave out servers of cells that do not answer."""
    nova = Nova(['a', 'b', 'c'])
    assert ids(items(nova, '/servers', 'servers')) == ['a', 'b', 'c']
    assert [sorted(query) for query in nova.asked] == [[], ['marker']]


def test_the_next_page_begins_behind_a_server_that_nova_knows():
    """A marker of a cell that does not answer is refused; a page of nothing else is the last."""
    nova = Nova(['a', 'b', 'c'], unknown={'b'})
    assert ids(items(nova, '/servers', 'servers'))[:3] == ['a', 'b', 'b']
    assert nova.asked[1] == {'marker': 'a'}
    nova = Nova(['a', 'b', 'c'], unknown={'a', 'b'})
    assert ids(items(nova, '/servers', 'servers')) == ['a', 'b']


def test_lists_without_markers_are_read_by_offset():
    """A page that is not full is the last."""
    nova = Nova(['a', 'b', 'c'])
    assert ids(items(nova, '/servers', 'servers', limit=2, by_offset=True)) == ['a', 'b', 'c']
    assert [query.get('offset') for query in nova.asked] == [None, '2']


def test_pages_that_do_not_end_are_an_error():
    """A part of a list taken for all of it would look as if the rest were gone."""
    numbers = iter(range(10 * MAX_PAGES))

    def ask(path):
        return {'servers': [{'id': next(numbers)}], 'servers_links': ['next']}

    with pytest.raises(CloudUnavailable, match=f'more than {MAX_PAGES} pages'):
        list(items(ask, '/servers', 'servers'))


def test_a_page_that_repeats_is_the_last():
    """What stands still is not asked for a thousand times."""

    def ask(path):
        return {'servers': [{'id': 'a'}], 'servers_links': ['next']}

    assert len(list(items(ask, '/servers', 'servers'))) == 2


@pytest.mark.parametrize(
    ('error', 'away'),
    [
        (keystone_errors.ConnectFailure('no route'), True),
        (keystone_errors.ServiceUnavailable(http_status=503), True),
        (keystone_errors.Forbidden(), False),
        (keystone_errors.EndpointNotFound(), False),
        (sdk_errors.HttpException('gateway', http_status=502), True),
        (sdk_errors.HttpException('broken', http_status=500), False),
        (sdk_errors.SDKException('what'), False),
        (ConnectionResetError('reset'), True),
    ],
)
def test_silence_is_not_an_answer_with_an_error(error, away):
    """Silence concerns everybody; an error only whoever asked."""
    assert (type(unavailable(error)) is CloudAway) is away


@pytest.mark.parametrize(
    'error',
    [
        KeyError('id'),
        TypeError('None'),
        ValueError('x'),
        requests.exceptions.JSONDecodeError('Expecting value', '<html>', 0),
    ],
)
def test_an_answer_without_sense_is_no_answer(error):
    """It is an error of this request: no defect of ours, and no silence, which would concern everybody."""
    with pytest.raises(CloudUnavailable, match='not understood') as found, translated():
        raise error
    assert type(found.value) is CloudUnavailable


def test_errors_of_ours_pass_through():
    """They say already what happened."""
    with pytest.raises(CloudRefused), translated():
        raise CloudRefused('the quota is used up')
