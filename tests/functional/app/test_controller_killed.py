# SPDX-License-Identifier: Apache-2.0
"""A controller that dies at any step: the next one finds what was made; none is doubled, none is lost."""

import contextlib
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import fields, replace
from pathlib import Path

import pytest

from nova_market.adapters.clock import SystemClock
from nova_market.adapters.leadership import SoleLeader
from nova_market.core.app.record import AppState, DesiredServerState, DesiredState, HookReport
from nova_market.core.ledger.posting import account
from nova_market.db.database import Database
from nova_market.db.ledger import DatabaseLedger
from tests.functional.market.test_killed import Killed, Life, Mortal, _empty
from tests.support.app_bed import CREDIT, PERIOD, Bed, component, template
from tests.support.openstack.owner_cloud import OwnerNova, serving

pytestmark = pytest.mark.functional

ROOT = Path(__file__).resolve().parents[3]
WRITES = frozenset(
    {
        'decide', 'put', 'drop', 'remove', 'tell', 'create', 'suspend', 'resume', 'delete', 'forget',
        'set', 'close', 'post',
    }
)  # fmt: skip
MEANT = {
    AppState.RUNNING: DesiredServerState.PRESENT,
    AppState.SUSPENDED: DesiredServerState.SUSPENDED,
}


class Story:
    """An application that starts, grows, is suspended, resumed and deleted; `controller` may die in it."""

    def __init__(self, base, until):
        self.bed = Bed(base)
        self.life = Life(until)
        stores = {
            f.name: Mortal(getattr(self.bed.stores, f.name), self.life)
            for f in fields(self.bed.stores)
        }
        self.controller = self.bed.another(
            SoleLeader(),
            stores=replace(self.bed.stores, **stores),
            cloud=Mortal(self.bed.cloud, self.life),
        )

    def turns(self, count=1):
        """Passes 30 s apart, so that what waits for an answer that may have got lost goes on."""
        for _ in range(count):
            self.bed.market.engine.tick()
            try:
                self.controller.turn()
            except Killed:
                self.controller = self.bed.another(SoleLeader())
                self.bed.clock.advance(PERIOD / 2)
                self.controller.turn()
            self.bed.clock.advance(PERIOD / 2)

    def tell(self):
        bed = self.bed
        bed.add('app', template('horizontal', components=[component(count=(2, 4))]))
        self.turns(3)
        bed.report('app', metric=5.0)
        self.turns(3)
        self.check(AppState.RUNNING)
        for wish, state in (
            (DesiredState.SUSPEND, AppState.SUSPENDED),
            (DesiredState.RUN, AppState.RUNNING),
        ):
            bed.change('app', wish=wish)
            self.turns(4)
            self.check(state)
        bed.change('app', wish=DesiredState.DELETE)
        self.turns(5)
        self.check_gone()
        return self

    def check(self, state):
        """Each slot has one server, each server a slot, all are in the state that is meant."""
        bed, where = self.bed, self.where
        assert bed.app('app').state is state, where
        slots = bed.stores.slots.slots('app')
        own = bed.own('app')
        assert {slot.label: [slot.server_id] for slot in slots} == own, where
        assert len(own) >= 2 and {slot.intention for slot in slots} == {MEANT[state]}, where
        bids = {bid.server_id for bid in bed.stores.bids.list()}
        assert bids == {ids[0] for ids in own.values()}, where

    def check_gone(self):
        bed, where = self.bed, self.where
        assert (bed.app('app'), bed.own('app'), bed.stores.slots.all()) == (None, {}, {}), where
        assert bed.cloud.trusts == {} and bed.stores.bids.list() == [], where
        found = bed.stores.accounts.account(account('budget', 'app'))
        assert found is None or (found.closed and found.balance == 0), where
        assert not list(DatabaseLedger(bed.database, bed.clock.wall).discrepancies()), where

    @property
    def where(self):
        steps = self.life.steps
        return (
            self.life.until,
            steps[self.life.until - 1] if len(steps) >= self.life.until else '',
        )


class DrainStory(Story):
    """One server is given up and taken back, given up again, and goes when its work has ended."""

    def tell(self):
        bed = self.bed
        bed.add(
            'app', template('horizontal', components=[component(count=(2, 3), drain_timeout=600)])
        )
        self.turns(3)
        bed.report('app', metric=5.0)
        self.turns(3)
        self.check(AppState.RUNNING)
        servers, self.began = bed.own('app'), len(self.life.steps)
        for metric, count in ((0.5, 1), (5.0, 0), (0.5, 1)):
            bed.report('app', metric=metric)
            for _ in range(6):
                if len(self.draining()) != count:
                    self.turns()
            bed.report('app', metric=0.85)
            assert len(self.draining()) == count and bed.own('app') == servers, self.where
            assert {s.label for s in bed.stores.slots.slots('app')} == set(servers), self.where
        (slot,) = self.draining()
        bed.stores.events.report_hooks(
            HookReport(
                app_id='app', server_id=slot.server_id, at=0.0, drain=slot.drain_id, drained=True
            )
        )
        self.turns(3)
        assert slot.label not in bed.own('app') and len(bed.own('app')) == 2, self.where
        assert bed.reasons('app', 'drained'), self.where
        self.check(AppState.RUNNING)
        return self

    def draining(self):
        drains = DesiredServerState.DRAINING
        return [one for one in self.bed.stores.slots.slots('app') if one.intention is drains]


def writes(steps, since=0):
    """Numbers of the steps that change something."""
    return [
        n
        for n, step in enumerate(steps, 1)
        if n > since and step.startswith('before') and step.split()[1] in WRITES
    ]


def test_killed_at_every_step(url, database):
    """Before each call that changes something: what was changed by the one before stays, no more happens."""
    fast = Database({'connection': url, 'sqlite_synchronous': False})
    writing = writes(Story(fast, until=0).tell().life.steps)
    assert len(writing) >= 40, len(writing)
    for until in writing:
        _empty(fast)
        Story(fast, until).tell()
    fast.close()


def test_killed_at_every_step_of_draining(url, database):
    """No server is deleted before its work has ended, and none is made in its place."""
    fast = Database({'connection': url, 'sqlite_synchronous': False})
    story = DrainStory(fast, until=0).tell()
    writing = writes(story.life.steps, story.began)
    assert len(writing) >= 10, len(writing)
    for until in writing:
        _empty(fast)
        DrainStory(fast, until).tell()
    fast.close()


# the command itself, in front of OpenStack's APIs

MARKET_PERIOD = 5
KILLS = 6
CONFIGURATION = """
[database]
connection = {url}
[market]
period = {period}
coordination_url = file://{lock}
[controller]
name = {name}
interval = 1
first_pause = 1
settle_time = 5
[openstack]
timeout = 2
auth_type = password
auth_url = {keystone}/v3
username = market
password = geheim
project_name = service
user_domain_id = default
project_domain_id = default
"""


@pytest.fixture
def command(url, tmp_path):
    """start(keystone) -> a process of nova-market-controller."""
    running = []

    def start(keystone):
        number = len(running)
        path = tmp_path / f'controller-{number}.conf'
        path.write_text(
            CONFIGURATION.format(
                url=url, period=MARKET_PERIOD, lock=tmp_path, name=f'c{number}', keystone=keystone
            )
        )
        log = (tmp_path / f'controller-{number}.log').open('w')
        arguments = ['-W', 'ignore', '-m', 'nova_market.cmd.controller', '--config-file', str(path)]
        made = subprocess.Popen([sys.executable, *arguments], stderr=log, stdout=log, cwd=ROOT)
        log.close()
        running.append(made)
        return made

    yield start
    for made in running:
        made.kill()
        made.wait(10)


@pytest.mark.clock
def test_kill_9_of_the_command(database, command):
    """Again and again, at any moment, with a standby: applications start, grow and end all the same."""
    rng = random.Random(6)
    bed = Bed(database, clock=SystemClock(), period=MARKET_PERIOD, boot=0.5, leave=0.5)
    fake, stop = OwnerNova(bed.cloud), threading.Event()

    def rounds():
        while not stop.wait(0.3):
            with fake.lock:
                bed.market.engine.tick()

    runs = threading.Thread(target=rounds, daemon=True)
    with serving(fake):
        runs.start()
        apps = [f'app-{n}' for n in range(3)]
        for name in apps:
            bed.add(name, template('horizontal', components=[component(count=(2, 4))]))
        processes = [command(fake.url), command(fake.url)]
        for _ in range(KILLS):
            for name in apps:
                bed.report(name, metric=5.0)
            time.sleep(rng.uniform(1.0, 5.0))
            processes[0].send_signal(signal.SIGKILL)
            processes.append(command(fake.url))
            processes.pop(0).wait(10)
        for name in apps:
            bed.report(name, metric=0.9)

        def settled():
            rows = {s.label + s.app_id: s for name in apps for s in bed.stores.slots.slots(name)}
            with fake.lock:
                own = {k + name: ids for name in apps for k, ids in bed.own(name).items()}
            return len(own) >= 6 and own == {k: [s.server_id] for k, s in rows.items()}

        _until(settled, 60)
        for name in apps:
            _again(lambda name=name: bed.change(name, wish=DesiredState.DELETE))
        _until(lambda: all(bed.app(name) is None for name in apps), 60)
        stop.set()
        runs.join(10)
        assert bed.cloud.made == {} and bed.cloud.trusts == {}
        # the older one: the other may still be starting, and dies of the signal
        processes[0].terminate()
        assert processes[0].wait(20) == 0
    assert bed.stores.bids.list() == []
    bed.market.engine.settle()
    assert not list(DatabaseLedger(database, bed.clock.wall).discrepancies())
    spent = 3 * 1000 * CREDIT - bed.market.balance('red')
    assert spent >= 0


def _until(done, seconds):
    ends = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < ends, 'it does not happen'
        time.sleep(0.2)


def _again(work, times=20):
    """The owner reads again when the controller was faster."""
    for _ in range(times):
        with contextlib.suppress(Exception):
            return work()
        time.sleep(0.1)
    return work()
