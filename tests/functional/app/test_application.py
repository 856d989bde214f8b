# SPDX-License-Identifier: Apache-2.0
"""An application as a tenant has it: commands, API, controller, market and the agent in its guest.

The steps of the guide (doc/source/user/applications.rst), on a cloud in memory with one clock.
"""

from datetime import UTC, datetime

import pytest

from nova_market.adapters.in_memory.trusts import StaticTrusts
from nova_market.core.ledger.posting import Reason, account
from nova_market.guest_agent import report as agent
from tests.support.app_bed import CREDIT, PERIOD, Bed
from tests.support.market.api import ALICE, make_market
from tests.support.market.api_server import serving_market
from tests.support.market.shell import granted, shown
from tests.support.market_bed import bidding
from tests.support.market_bed import server as other_server

pytestmark = pytest.mark.functional

START = datetime(2026, 11, 22, tzinfo=UTC).timestamp()
WORK = 3600.0
"""Core-seconds of the whole application."""
ITERATIONS = 1000

TEMPLATE = """
name: zephyr
policy: full_deadline
slo:
  deadline: {deadline}
  work_core_seconds: 3600
budget:
  renew_amount: 40
components:
  - name: solver
    flavor: large
    image: zephyr-4
    least: {{cpu: 0.25, memory_mib: 512}}
    user_data: |
      #!/bin/sh
      echo '@MARKET_CREDENTIAL@' > /etc/market.credential
      nova-market-report --url @MARKET_URL@ --app @MARKET_APP@ --progress-file /run/progress &
"""


class CloudTrusts(StaticTrusts):
    """Those that the cloud in memory knows."""

    def __init__(self, bed):
        super().__init__({})
        self._bed = bed

    def create(self, token, user_id, project_id, roles):
        return self._bed.cloud.trust(project_id)


@pytest.fixture
def bed(database):
    """Four best-effort neighbours on the one host."""
    neighbours = [
        other_server(f'n{n}', 'blue', vcpus=4, mib=900, metadata=bidding(1, 0.1)) for n in range(4)
    ]
    made = Bed(database, servers=neighbours)
    made.clock.set_wall(START)
    made.market.grant('blue', 10_000)
    return made


@pytest.fixture
def market_service(bed, database):
    market = make_market(database, wall=bed.clock.wall, trusts=CloudTrusts(bed))
    yield from serving_market(market, database)


class Guest:
    """The application in its server: works as fast as its cores let it, and reports with the agent."""

    def __init__(self, bed, service, app, directory):
        self._bed, self._app = bed, app['id']
        self._path = directory / 'progress'
        self.done = 0.0
        words = ['--url', f'{service.url}/market', '--app', self._app]
        given = agent.parser().parse_args([*words, '--progress-file', str(self._path)])
        self._reporter = agent.Reporter(
            given, app['credential'], self._app, '', lambda: self._uptime
        )
        self._uptime = 0.0

    def work(self, periods):
        """Let periods pass, with a report in each, until the service has heard enough."""
        for _ in range(periods):
            self._bed.run()
            if not self._bed.cores(self._app):
                continue  # suspended: nothing in it runs, nor does its clock
            self._uptime += PERIOD
            self.done += self._bed.cores(self._app) * PERIOD * ITERATIONS / WORK
            self.done = min(self.done, ITERATIONS)
            self._path.write_text(f'{self.done} {ITERATIONS}')
            try:
                self._reporter.send(self._reporter.report())
            except agent.Ended:
                return


def in_seconds(bed, seconds):
    at = datetime.fromtimestamp(bed.clock.wall() + seconds, UTC)
    return at.isoformat().replace('+00:00', 'Z')


@pytest.fixture
def zephyr(bed, market_service, connect, run, tmp_path):
    """The application, made by its owner's command, and its guest."""
    granted(market_service, connect, 'alice', 1000)
    path = tmp_path / 'zephyr.yaml'
    path.write_text(TEMPLATE.format(deadline=in_seconds(bed, 2400)))
    made = shown(run, 'alice', 'app', 'create', str(path))
    return made, Guest(bed, market_service, made, tmp_path)


def test_a_deadline_is_moved_and_met(bed, market_service, run, zephyr):
    """Bid and share follow the deadline; done, its servers go and its credits come back."""
    _, guest = zephyr
    guest.work(8)
    before = shown(run, 'alice', 'app', 'show', 'zephyr')
    assert before['state'] == 'running' and before['lateness'] <= 1
    (calm,) = before['clusters']
    shown(run, 'alice', 'app', 'set', 'zephyr', '--deadline', in_seconds(bed, 1150))
    guest.work(6)
    (hurried,) = shown(run, 'alice', 'app', 'show', 'zephyr')['clusters']
    assert hurried['bid_cpu'] > 1.3 * calm['bid_cpu']
    assert hurried['cpu'] > 1.15 * calm['cpu']
    guest.work(14)
    assert guest.done == ITERATIONS
    bed.run(2)
    done = shown(run, 'alice', 'app', 'show', 'zephyr')
    assert (done['state'], done['servers']) == ('finished', [])
    moments = shown(run, 'alice', 'app', 'events', 'zephyr', '--limit', '1000')
    finished = next(one for one in moments if one['Action'] == 'finished')
    assert datetime.fromisoformat(finished['At']).timestamp() <= START + 8 * 60 + 1150 + 60
    assert {'created', 'started', 'changed', 'bid'} <= {one['Action'] for one in moments}
    assert run('alice', 'app', 'delete', 'zephyr')[0] == 0
    bed.run(2)
    assert shown(run, 'alice', 'app', 'list') == []
    assert shown(run, 'alice', 'budget', 'list') == []
    ledger = market_service.market.stores.ledger
    lines = ledger.statement(account('project', ALICE), limit=10_000)
    income = sum(one.change for one in lines if one.posting.reason == Reason.DISTRIBUTION)
    paid = 1000 * CREDIT + income - shown(run, 'alice', 'account', 'show')['balance']
    assert done['spent'] == paid
    assert ledger.discrepancies() == []


def test_it_is_suspended_and_resumed_by_its_owner(bed, run, zephyr):
    """Its server is, too; it spends nothing meanwhile."""
    _, guest = zephyr
    guest.work(3)
    shown(run, 'alice', 'app', 'suspend', 'zephyr')
    bed.run(2)
    spent = shown(run, 'alice', 'app', 'show', 'zephyr')['spent']
    bed.run(3)
    found = shown(run, 'alice', 'app', 'show', 'zephyr')
    assert (found['state'], found['servers'][0]['intention']) == ('suspended', 'suspended')
    assert found['spent'] == spent
    shown(run, 'alice', 'app', 'resume', 'zephyr')
    bed.run(3)
    assert shown(run, 'alice', 'app', 'show', 'zephyr')['state'] == 'running'
