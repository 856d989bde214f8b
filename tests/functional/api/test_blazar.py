# SPDX-License-Identifier: Apache-2.0
"""L9: leases of Blazar are paid from our ledger; Blazar's own filter calls."""

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from werkzeug.serving import make_server

from nova_market.core.lease.billing import LeasePrices
from nova_market.core.lease.limit import LeaseLimits
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import MINT, Posting, Reason
from nova_market.core.timestamp import stamp
from nova_market.errors import DatabaseUnavailable
from tests.support.lease_records import HOUR
from tests.support.lease_settings import SETTINGS
from tests.support.market.api import ALICE, BOB, OPERATOR, make_market

pytestmark = pytest.mark.functional

FILTER_CALL = Path(__file__).parents[2] / 'support/blazar/filter_call.py'
BLAZAR = f'blazar@{OPERATOR}'
CREDIT = 10**6
CONTEXT = {
    'user_id': 'carol', 'project_id': ALICE, 'auth_url': 'http://k/v3', 'region_name': 'RegionOne',
}  # fmt: skip
ID = 'e96b5a17-ada0-4034-a5ea-34db024b8e04'
SERVERS = {
    'id': 'r1', 'resource_type': 'virtual:instance', 'amount': '2', 'vcpus': 2, 'memory_mb': 1024,
    'disk_gb': 10, 'affinity': None, 'resource_properties': '',
}  # fmt: skip
HOST = {'id': '1', 'vcpus': 8, 'memory_mb': 4096, 'local_gb': 100, 'hypervisor_hostname': 'h1'}


@pytest.fixture
def cloud(market):
    """A project with a hundred credits; a core-hour costs one."""
    name = f'project:{ALICE}'
    market.stores.accounts.open([Account(id=name, project_id=ALICE)])
    grant = Posting(key='g', reason=Reason.GRANT, debit=MINT, credit=name, amount=100 * CREDIT)
    market.stores.ledger.post([grant])
    return market


def lease_of(market, after=HOUR, hours=2.0, reservations=(SERVERS,), **more):
    """Four cores for two hours, an hour from now: eight credits."""
    start = market.wall() + after
    return {
        'name': 'n', 'start_date': stamp(start).rstrip('Z'),
        'end_date': stamp(start + hours * HOUR).rstrip('Z'),
        'reservations': [{**one, 'allocations': []} for one in reservations], **more,
    }  # fmt: skip


def send(market, call, lease, status=204, token=BLAZAR, context=CONTEXT, **more):
    """One call of the filter; the message of a refusal."""
    body = {'context': context, 'lease': lease, **more}
    answer = market.call('POST', f'/v1/blazar/{call}', token, json=body)
    assert answer.status_code == status, answer.data
    return '' if status == 204 else answer.json['message']


def money(market):
    """Credits of (the project, escrow, bank); the ledger adds up."""
    assert market.stores.ledger.discrepancies() == []
    names = [f'project:{ALICE}', 'escrow', 'bank']
    found = market.stores.ledger.balances(names)
    return tuple(found.get(name, 0) / CREDIT for name in names)


def rows(market):
    return market.call('GET', '/v1/leases', f'member@{ALICE}').json['leases']


def test_a_call_reads_no_leases_but_those_of_its_project(cloud, monkeypatch):
    """Blazar's hosts are its own: what others have leased concerns no call, however much that is."""

    def refused(*_):
        raise AssertionError('all leases were read')

    monkeypatch.setattr(cloud.stores.leases, 'calendar', refused)
    before = lease_of(cloud)
    send(cloud, 'check-create', before)
    send(cloud, 'commit-create', {**before, 'id': ID})
    after = lease_of(cloud, hours=3.0)
    send(cloud, 'check-update', {**after, 'id': ID}, current_lease={**before, 'id': ID})
    send(cloud, 'on-end', {**after, 'id': ID})


@pytest.fixture
def served(cloud):
    """The address of the API on a port of its own."""
    server = make_server('127.0.0.1', 0, cloud.application, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f'http://127.0.0.1:{server.server_port}/v1/blazar/'
    server.shutdown()
    thread.join()
    server.server_close()


def by_filter(url, calls, token=BLAZAR):
    """What Blazar's filter raised at each call."""
    assert find_spec('blazar') is not None, 'install test-requirements.txt: blazar is missing'
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', str(FILTER_CALL), url, token],
        input=json.dumps(calls), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.clock
def test_the_filter_of_blazar_holds_changes_and_settles(cloud, served):
    """Its own code, from create to end: a host that is made longer, and ended with half of it used."""
    host = {'resource_type': 'physical:host', 'min': '1', 'max': '1', 'hypervisor_properties': ''}
    one = {
        'context': CONTEXT, 'reservations': [host], 'allocations': {'physical:host': [HOST]},
        'lease': {k: v for k, v in lease_of(cloud).items() if k != 'reservations'},
    }  # fmt: skip
    dear = {**one, 'lease': {**one['lease'], 'name': 'dear', 'end_date': '2999-01-01T00:00:00'}}
    raised = by_filter(served, [{'call': 'check_create', **each} for each in (one, dear)])
    assert raised[0] is None and '84 credits left' in raised[1]
    assert money(cloud) == (84, 16, 0)
    stored = {**one, 'lease': {**one['lease'], 'id': ID, 'events': []}}
    stored['reservations'] = [{**host, 'id': 'r1', 'status': 'pending'}]
    longer = {**stored, 'lease': lease_of(cloud, hours=4)}
    assert by_filter(served, [{'call': 'check_update', 'current': stored, **longer}]) == [None]
    assert money(cloud) == (68, 32, 0)
    cloud.wall.now += 3 * HOUR
    stored['lease'] |= {'end_date': longer['lease']['end_date']}
    assert by_filter(served, [{'call': 'on_end', **stored}] * 2) == [None, None]
    # two of four hours; nine tenths of the rest come back
    assert money(cloud) == (68 + 14.4, 0, 17.6)


@pytest.mark.clock
def test_the_filter_of_blazar_shows_only_what_is_for_users(cloud, served):
    """A token without the role service denies leases, without a reason of ours."""
    one = {'context': CONTEXT, 'lease': lease_of(cloud), 'reservations': [], 'allocations': {}}
    calls = [{'call': 'check_create', **one}]
    (found,) = by_filter(served, calls, 'unknown')
    assert found == 'External service enforcement filter denied the request.'
    (found,) = by_filter(served, calls, f'admin@{ALICE}')
    assert 'market:leases:blazar' in found and rows(cloud) == []


def test_limits_are_for_leases_of_blazar_too(cloud):
    """Two hosts of four cores for an hour fit; what is longer does not, and shorter always does."""
    limits = LeaseLimits(core_seconds=10 * HOUR)
    strict = make_market(cloud.database, wall=cloud.wall, leases=replace(SETTINGS, limits=limits))
    one = {**lease_of(strict), 'id': ID}
    send(strict, 'check-create', one)
    longer = {**one, 'end_date': stamp(strict.wall() + 9 * HOUR).rstrip('Z')}
    told = send(strict, 'check-update', longer, 403, current_lease=one)
    assert 'core-hours' in told and 'max_core_hours' in told
    assert 'core-hours' in send(strict, 'check-create', {**lease_of(strict), 'name': 'b'}, 403)
    assert money(cloud) == (92, 8, 0)
    free = make_market(
        cloud.database, wall=cloud.wall, leases=replace(SETTINGS, prices=LeasePrices())
    )
    nothing = {**lease_of(free), 'name': 'c'}
    assert 'off' in send(free, 'check-create', nothing, 403)


def test_a_call_that_is_repeated_moves_nothing_twice(cloud):
    """What has an id. Without one, each check is of a lease of its own: Blazar makes as many."""
    one = lease_of(cloud)
    send(cloud, 'check-create', one)
    assert money(cloud) == (92, 8, 0) and len(rows(cloud)) == 1
    for call in ('commit-create', 'commit-create', 'check-create'):
        send(cloud, call, {**one, 'id': ID})
    assert money(cloud) == (92, 8, 0) and rows(cloud)[0]['purpose'] == f'Blazar lease {ID}'
    # within minutes all would come back, then nine tenths
    cloud.wall.now += HOUR / 2
    for _ in range(2):
        send(cloud, 'on-end', {**one, 'id': ID})
    assert money(cloud) == (99.2, 0, 0.8)
    for held in (8, 16):
        send(cloud, 'check-create', one)
        assert money(cloud)[1] == held


def test_two_leases_of_one_time_are_settled_one_by_one(cloud):
    """Neither has an id until its end; Blazar has changed the name of one."""
    small = {**SERVERS, 'amount': 1}
    first, second = lease_of(cloud), lease_of(cloud, name='m', reservations=[small])
    for one in (first, second):
        send(cloud, 'check-create', one)
    assert money(cloud) == (88, 12, 0)
    cloud.wall.now += 3 * HOUR
    send(cloud, 'on-end', {**second, 'id': 'second'})
    assert money(cloud) == (88, 8, 4)
    send(cloud, 'on-end', {**first, 'id': 'first', 'name': 'renamed'})
    assert money(cloud) == (88, 0, 12)
    send(cloud, 'on-end', {**first, 'id': 'first'})
    assert money(cloud) == (88, 0, 12)


def test_a_change_keeps_what_has_passed(cloud):
    """Half of the time with four cores, then one server less; a dear change is refused and moves nothing."""
    one = lease_of(cloud, id=ID)
    send(cloud, 'check-create', one)
    cloud.wall.now += 2 * HOUR
    ask = {'id': 'r1', 'amount': 1}
    new = {k: one[k] for k in ('start_date', 'end_date')}
    changed = [{**ask, 'resource_type': 'virtual:instance', 'allocations': []}]
    for _ in range(2):
        for call in ('check-update', 'commit-update'):
            send(cloud, call, {**new, 'reservations': changed}, current_lease=one)
    assert money(cloud) == (94, 6, 0)
    late = {**new, 'end_date': stamp(cloud.wall() + 1000 * HOUR)}
    assert '94 credits left' in send(cloud, 'check-update', late, 403, current_lease=one)
    assert money(cloud) == (94, 6, 0)
    cloud.wall.now += 2 * HOUR
    send(cloud, 'on-end', one)
    assert money(cloud) == (94, 0, 6)


def test_a_change_of_size_changes_no_price_of_what_has_passed(cloud):
    """Larger and back in the same moment, and no smaller before what has passed is charged."""
    one = lease_of(cloud, after=0, hours=4, id=ID)
    send(cloud, 'check-create', one)
    assert money(cloud) == (84, 16, 0)
    cloud.wall.now += 2 * HOUR
    new = {name: one[name] for name in ('start_date', 'end_date')}
    for amount, held in ((4, 24), (2, 16), (1, 12), (2, 16)):
        more = {**one['reservations'][0], 'amount': amount}
        now = {**one, 'reservations': [more]}
        send(cloud, 'check-update', {**new, 'reservations': [more]}, current_lease=one)
        assert money(cloud) == (100 - held, held, 0)
        one = now
    cloud.wall.now += HOUR
    send(cloud, 'on-end', {**one, 'end_date': stamp(cloud.wall()).rstrip('Z')})
    assert money(cloud) == (88, 0, 12)


def test_all_hosts_that_are_reserved_are_paid(cloud):
    """Also those that Blazar does not list; and of two reservations it lists the hosts of the last one."""
    listed = [{'vcpus': 2, 'memory_mb': 0, 'local_gb': 0}]
    hosts = {'resource_type': 'physical:host', 'min': 3, 'max': 5, 'allocations': listed}
    one = lease_of(cloud)
    send(cloud, 'check-create', {**one, 'reservations': [hosts]})
    assert money(cloud) == (88, 12, 0)
    assert 'physical:host' in send(cloud, 'check-create', {**one, 'reservations': [hosts] * 2}, 403)
    assert 'allocations' in send(
        cloud, 'check-create', {**one, 'reservations': [{**hosts, 'allocations': []}]}, 403
    )


def test_a_lease_that_nobody_has_checked_is_charged_at_its_end(cloud):
    """The filter was enabled later, or Blazar has made a second lease like the first within a minute."""
    one = lease_of(cloud, id=ID)
    send(cloud, 'on-end', one)
    assert money(cloud) == (100, 0, 0)
    cloud.wall.now += 2 * HOUR
    send(cloud, 'on-end', one)
    send(cloud, 'on-end', one)
    assert money(cloud)[1:] == (0, 4.4)
    # what the account has not is not charged, and Blazar goes on
    send(cloud, 'on-end', lease_of(cloud, after=-500 * HOUR, hours=600, id='x'))
    assert money(cloud)[1:] == (0, 4.4)


def test_what_is_refused_says_why(cloud):
    one = lease_of(cloud)
    unknown = {'resource_type': 'flavor:instance', 'amount': 1, 'flavor_id': 'none'}
    assert 'flavor none' in send(
        cloud, 'check-create', lease_of(cloud, reservations=[unknown]), 403
    )
    other = {**CONTEXT, 'project_id': BOB}
    assert 'account' in send(cloud, 'check-create', one, 403, context=other)
    send(cloud, 'check-create', {**one, 'start_date': 'soon'}, 400)
    send(cloud, 'check-create', {**one, 'end_date': one['start_date']}, 403)
    for token in (f'admin@{ALICE}', f'manager@{ALICE}', f'reader@{ALICE}'):
        send(cloud, 'check-create', one, 403, token)
    assert money(cloud) == (100, 0, 0)


def test_a_flavor_and_other_resources(cloud):
    """Eight cores for two hours; addresses are free."""
    flavor = {'resource_type': 'flavor:instance', 'amount': 1, 'flavor_id': 'big'}
    address = {'resource_type': 'virtual:floatingip', 'amount': 3, 'network_id': 'n'}
    send(cloud, 'check-create', lease_of(cloud, reservations=[flavor, address]))
    assert money(cloud) == (84, 16, 0)


def test_only_blazar_changes_its_leases(cloud):
    """An operator ends one that Blazar has not made after all, and all comes back."""
    send(cloud, 'check-create', lease_of(cloud, after=48 * HOUR))
    (one,) = rows(cloud)
    path = f'/v1/leases/{one["id"]}'
    for token in (f'member@{ALICE}', f'manager@{ALICE}'):
        assert cloud.call('DELETE', path, token).status_code == 403
    answer = cloud.call('PATCH', path, f'member@{ALICE}', json={'flexible': True})
    assert answer.json['errors'][0]['code'] == 'market.lease.blazar'
    assert cloud.call('DELETE', path, f'admin@{OPERATOR}').status_code == 200
    assert money(cloud) == (100, 0, 0)


def test_calls_at_once_hold_once(cloud):
    """And of leases that are too dear together, as many as can be paid."""
    one = lease_of(cloud, id=ID)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: send(cloud, 'check-create', one), range(4)))
    assert money(cloud) == (92, 8, 0)

    def dear(number):
        lease = lease_of(cloud, hours=10, id=f'dear-{number}')
        body = {'context': CONTEXT, 'lease': lease}
        path = '/v1/blazar/check-create'
        return cloud.call('POST', path, BLAZAR, json=body).status_code

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(dear, range(4)))
    assert sorted(found) == [204, 204, 403, 403] and money(cloud) == (12, 88, 0)


@pytest.mark.parametrize('when', ['before', 'after'])
def test_killed_before_or_after_it_is_written(cloud, monkeypatch, when):
    """Blazar gets no answer to any call and calls again: charged once."""
    leases = cloud.stores.leases

    def cut(name):
        method = getattr(leases, name)

        def dies(*given, **more):
            monkeypatch.setattr(leases, name, method)
            if when == 'after':
                method(*given, **more)
            raise DatabaseUnavailable('cut')

        monkeypatch.setattr(leases, name, dies)

    one, longer = lease_of(cloud, id=ID), lease_of(cloud, hours=4)
    for call, lease, name, more in (
        ('check-create', one, 'book', {}),
        ('check-update', longer, 'change', {'current_lease': one}),
        ('on-end', {**longer, 'id': ID}, 'change', {}),
    ):
        if call == 'on-end':
            cloud.wall.now += 5 * HOUR
        cut(name)
        send(cloud, call, lease, 503, **more)
        send(cloud, call, lease, **more)
    assert money(cloud) == (84, 0, 16)
