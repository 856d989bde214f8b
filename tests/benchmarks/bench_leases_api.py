# SPDX-License-Identifier: Apache-2.0
"""Requests for leases through the API: booked, offered, refused, by the number of leases and hosts.

As a ratio to a request that only reads, `GET /v1/leases?limit=1` of the same application in the same run, and
as requests a second. CPU seconds of this process, SQLite, in process. Aim: 200 requests a second of one
process.
"""

import time

import numpy as np
import pytest
from flask import Flask
from werkzeug.test import Client

from nova_market.cmd import api as command
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import MINT, Posting, Reason
from nova_market.core.timestamp import stamp
from tests.support.job_bed import host
from tests.support.lease_bed import publish_hosts
from tests.support.lease_records import HOUR, lease, quota
from tests.support.market.api_server import PEOPLE
from tests.support.market.deployed_api import configured

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

COUNT = 50
SIZES = ((30, 10), (30, 100), (100, 100), (100, 1000), (200, 1000))
"""Hosts, leases."""

HEADERS = {
    'OpenStack-API-Version': 'market 1.11',
    'X-Auth-Token': PEOPLE['alice'].token,
    'Content-Type': 'application/json',
}
PART = {'cores': 1, 'memory_mib': 1024, 'duration': HOUR}


def lay_out(market, hosts, leases):
    """Hosts of 64 cores, and leases of a day from an hour on, on two of them each."""
    stores, now = market.stores, market.wall()
    names = [f'n{row:03}' for row in range(hosts)]
    publish_hosts(stores.states, now, [host(one, cores=64.0, mib=262_144.0) for one in names])
    rng = np.random.default_rng(1)
    turn, live = stores.leases.calendar()
    for number in range(len(live), leases):
        begin = HOUR * float(rng.integers(2, 240))
        places = [names[row] for row in rng.choice(30, 2, replace=False)]
        one = lease(f'{hosts}-{number}', start=now + begin, hosts=places, hours=12)
        stores.leases.book(one, turn, (), (), quota(10**6))
        turn += 1


def test_requests_for_leases(file, market_service):
    """The growth is printed; the costs are bounded by those of a read."""
    market = market_service.market
    alice = PEOPLE['alice'].project_id
    market.stores.accounts.open([Account(id=f'project:{alice}', project_id=alice)])
    market.stores.ledger.post(
        [
            Posting(
                key='g', reason=Reason.GRANT, debit=MINT, credit=f'project:{alice}', amount=10**15
            )
        ]
    )
    conf = configured(file, request_rate=0)
    conf.set_override('max_leases', 100_000, 'leases')
    conf.set_override('max_open', 100_000, 'offers')
    client = Client(command.build(conf), Flask.response_class)

    def cost(method, path, body=None, status=201):
        given = {'headers': HEADERS, **({'json': body} if body else {})}
        answer = client.open(path, method=method, **given)
        assert answer.status_code == status, answer.text
        began = time.process_time()
        for _ in range(COUNT):
            client.open(path, method=method, **given)
        return (time.process_time() - began) / COUNT

    for hosts, leases in SIZES:
        lay_out(market, hosts, leases)
        window = {
            'earliest': stamp(market.wall() + 3 * HOUR), 'finish': stamp(market.wall() + 99 * HOUR)
        }  # fmt: skip
        found = {
            'a read': cost('GET', '/v1/leases?limit=1', status=200),
            'refused': cost('POST', '/v1/leases', {**PART, 'cores': 65}, 409),
            'offered': cost('POST', '/v1/offers', {'kind': 'lease', 'lease': PART}),
            'in a window': cost('POST', '/v1/offers', {'kind': 'lease', 'lease': PART | window}),
            'booked': cost('POST', '/v1/leases', PART | window),
        }
        print(
            f'\n{hosts} hosts, {leases} leases: '
            + ', '.join(f'{name} {1000 * one:.1f} ms' for name, one in found.items())
        )
