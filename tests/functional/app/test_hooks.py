# SPDX-License-Identifier: Apache-2.0
"""nova-market-hooks as a process in a guest, against the real API, with a controller on the same database."""

import ast
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from nova_market.core.app.record import DesiredServerState, HookReport
from nova_market.guest_agent import hooks, report
from tests.support.app_bed import Bed, component, template
from tests.support.market.api import make_market
from tests.support.market.api_server import serving_market

pytestmark = [pytest.mark.functional, pytest.mark.clock]

APP = '00000000-0000-4000-8000-00000000aaaa'
OTHER = '00000000-0000-4000-8000-00000000bbbb'
CREDENTIAL = 'shown-once'
LIMIT = 600
FILES = (Path(hooks.__file__), Path(report.__file__))

JOB = """#!/bin/sh
if grep -q "leave worker" "$PLACE/balancer"; then echo "out" >> "$PLACE/began"
else echo "in" >> "$PLACE/began"; fi
while [ ! -e "$PLACE/done" ]; do sleep 0.05; done
"""
NOTE = """#!/bin/sh
echo "$(basename $0) $*" >> "$PLACE/balancer"
cat > "$PLACE/serving"
"""
UNDRAIN = '#!/bin/sh\ntouch "$PLACE/undrained"\n'


@dataclass
class Place:
    """A cloud with one application, its API over HTTP, and a directory for what its guests do."""

    bed: Bed
    url: str
    path: Path

    def start(self, label, credential=CREDENTIAL, **scripts):
        """The agent in the guest of a server."""
        directory = self.path / label
        (directory / 'hooks').mkdir(parents=True, exist_ok=True)
        for file in FILES:
            shutil.copy(file, directory)
        for name, text in scripts.items():
            (directory / 'hooks' / name).write_text(text)
            (directory / 'hooks' / name).chmod(0o755)
        return subprocess.Popen(
            [
                sys.executable, str(directory / 'hooks.py'), '--url', f'{self.url}/market',
                '--app', APP, '--server', self.id(label), '--interval', '1',
                '--hooks', str(directory / 'hooks'), '--hook-timeout', '5',
                '--state', str(directory / 'state' / 'members.json'),
            ],
            env={
                'NOVA_MARKET_CREDENTIAL': credential, 'PATH': os.environ['PATH'],
                'PLACE': str(self.path), 'NOVA_MARKET_RUN': os.environ['NOVA_MARKET_RUN'],
            },
            stderr=subprocess.PIPE, text=True, cwd=directory,
        )  # fmt: skip

    def slots(self):
        return {one.label: one for one in self.bed.stores.slots.slots(APP)}

    def id(self, label):
        return self.slots()[label].server_id

    def lines(self, name):
        path = self.path / name
        return path.read_text().splitlines() if path.exists() else []

    def draining(self):
        drains = DesiredServerState.DRAINING
        return sorted(k for k, one in self.slots().items() if one.intention is drains)

    def until(self, done, seconds=30.0, clock=0.0):
        """Passes of the controller until something has happened."""
        ends = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < ends, (self.slots(), self.bed.actions(APP))
            self.bed.controller.turn()
            self.bed.clock.advance(clock)
            time.sleep(0.1)

    def shrink(self):
        """It is faster than it needs to be, and only worker-2 is idle."""
        for label, busy in (('worker-1', 1), ('worker-2', 0), ('worker-3', 2)):
            self.bed.report(APP, server_id=self.id(label), busy=busy, waiting=0)
        self.decided(0.5, 'draining')

    def decided(self, metric, action):
        """One decision on a metric, after which it performs as it should."""
        before = self.bed.actions(APP).count(action)
        self.bed.report(APP, metric=metric)
        for _ in range(12):
            self.bed.market.engine.tick()
            self.bed.controller.tick()
            if self.bed.actions(APP).count(action) > before:
                break
            self.bed.clock.advance(10.0)
        self.bed.report(APP, metric=0.85)


@pytest.fixture
def place(database, tmp_path):
    bed = Bed(database, ids='00000000-0000-4000-8000-{:012d}')
    parts = [
        component('balancer'),
        component(count=(1, 3), drain_timeout=LIMIT),
    ]
    bed.add(APP, template('horizontal', components=parts), credential=CREDENTIAL)
    bed.add(OTHER, template('horizontal'), credential='of-the-other')
    bed.run(1)
    bed.report(APP, metric=5.0)
    bed.run(3)
    bed.report(APP, metric=0.85)
    served = serving_market(make_market(database, wall=bed.clock.wall), database)
    service = next(served)
    made = Place(bed, service.url, tmp_path)
    assert sorted(made.slots()) == ['balancer-1', 'worker-1', 'worker-2', 'worker-3']
    running = []
    start = made.start
    made.start = lambda *given, **scripts: running.append(start(*given, **scripts)) or running[-1]
    yield made
    (tmp_path / 'done').touch()
    for one in running:
        one.kill()
        one.communicate(timeout=20)
    next(served, None)


def test_a_server_leaves_the_balancer_then_ends_its_job_then_is_deleted(place):
    """The idle one is given up; for as long as its job takes, it is there and paid for."""
    place.start('balancer-1', join=NOTE, leave=NOTE)
    place.until(lambda: len(place.lines('balancer')) == 3)
    assert place.lines('balancer') == [
        f'join worker {n} {place.id(f"worker-{n}")} {place.slots()[f"worker-{n}"].address}'
        for n in (1, 2, 3)
    ]
    place.start('worker-2', drain=JOB)
    server_id = place.id('worker-2')
    place.shrink()
    assert place.draining() == ['worker-2']
    (reason,) = place.bed.reasons(APP, 'draining')
    assert reason.endswith(f'ends its work in at most {LIMIT} s: it is idle')
    place.until(lambda: place.lines('began'))
    assert place.lines('began') == ['out']
    serving = json.loads((place.path / 'serving').read_text())
    assert sorted(one['number'] for one in serving) == [1, 3]
    for _ in range(5):
        place.bed.run(1)
    assert place.draining() == ['worker-2'] and server_id in place.bed.cloud.made
    bids = place.bed.stores.bids.of([server_id, place.id('worker-1')])
    assert bids[server_id].cpu == bids[place.id('worker-1')].cpu > 0
    (place.path / 'done').touch()
    place.until(lambda: 'worker-2' not in place.slots())
    assert server_id not in place.bed.cloud.made
    assert 'its work ended' in place.bed.reasons(APP, 'drained')[0]
    assert place.bed.reasons(APP, 'drain failed') == []


def test_a_server_is_taken_back_before_its_job_has_ended(place):
    """Its hook is ended, the one that undoes it runs, and no other server is made."""
    place.start('worker-2', drain=JOB, undrain=UNDRAIN)
    (place.path / 'balancer').touch()
    place.shrink()
    server_id = place.id('worker-2')
    place.until(lambda: place.lines('began'))
    (place.path / 'undrained').unlink(missing_ok=True)  # made if the agent saw no order at first
    place.decided(5.0, 'taken back')
    assert place.draining() == [] and place.id('worker-2') == server_id
    place.until(lambda: (place.path / 'undrained').exists())
    (place.path / 'done').touch()
    place.bed.run(2)
    assert place.id('worker-2') == server_id
    assert place.slots()['worker-2'].drain_id == 0
    # with the old end of another draining it is not deleted
    place.shrink()
    stale = HookReport(app_id=APP, server_id=server_id, at=0.0, drain=1, drained=True)
    place.bed.stores.events.report_hooks(stale)
    place.bed.controller.turn()
    assert place.draining() == ['worker-2']


def test_an_agent_that_was_killed_begins_again(place):
    """What it was doing is in the service, not in the agent."""
    (place.path / 'balancer').touch()
    first = place.start('worker-2', drain=JOB)
    place.shrink()
    place.until(lambda: len(place.lines('began')) == 1)
    first.kill()
    place.start('worker-2', drain=JOB)
    place.until(lambda: len(place.lines('began')) == 2)
    (place.path / 'done').touch()
    place.until(lambda: 'worker-2' not in place.slots())


def test_a_hook_that_fails_is_an_event_and_tried_again(place):
    """The server stays for as long as it may."""
    once = 'if [ -e "$PLACE/again" ]; then exit 0; fi; touch "$PLACE/again"'
    place.start('worker-2', drain=f'#!/bin/sh\n{once}\necho "cannot \033[31mreach" >&2; exit 3\n')
    place.shrink()
    place.until(lambda: 'worker-2' not in place.slots())
    (reason,) = place.bed.reasons(APP, 'drain failed')
    assert reason.endswith('exit status 3: cannot  [31mreach')


def test_without_an_agent_it_is_deleted_when_its_time_is_over(place):
    """Not earlier, and at once when nothing works there."""
    place.shrink()
    place.bed.run(LIMIT // 60 - 1)
    assert place.draining() == ['worker-2']
    place.bed.run(2)
    assert 'worker-2' not in place.slots()
    assert place.bed.reasons(APP, 'drained') == [f'worker-2: its work did not end in {LIMIT} s']


def test_a_server_that_was_shut_down_drains_no_longer(place):
    place.shrink()
    place.bed.cloud.stop(place.id('worker-2'))
    place.bed.controller.turn()
    place.bed.controller.turn()
    assert 'worker-2' not in place.slots()
    assert place.bed.reasons(APP, 'drained') == ['worker-2: nothing works there: it is stopped']


def test_a_balancer_that_is_silent_is_not_waited_for(place):
    """Its hook hangs; a minute later the server ends its job all the same."""
    place.start('balancer-1', join='#!/bin/sh\ntrue\n', leave='#!/bin/sh\nsleep 60\n')
    (place.path / 'balancer').touch()
    watching = place.bed.stores.events.hooks
    place.until(lambda: any(one.members for one in watching([APP]).get(APP, ())))
    place.start('worker-2', drain=JOB)
    place.shrink()
    time.sleep(2)
    assert place.lines('began') == []
    place.until(lambda: place.lines('began'), clock=10.0)


def member(number):
    return {
        'component': 'web', 'number': number, 'server_id': f'id-{number}', 'address': f'10.0.0.{number}',
        'state': 'present',
    }  # fmt: skip


def test_who_has_gone_while_no_agent_ran_leaves(tmp_path):
    """The agent before this one had run `join` for it; a file that cannot be read is a first start."""
    for name in ('join', 'leave'):
        (tmp_path / name).write_text(f'#!/bin/sh\necho "{name} $2" >> {tmp_path}/ran\n')
        (tmp_path / name).chmod(0o755)
    state = tmp_path / 'state' / 'members.json'

    def taken(*numbers):
        (tmp_path / 'ran').unlink(missing_ok=True)
        members = hooks.Members(
            hooks.Directory(str(tmp_path), 5.0), str(state), 'own', time.monotonic
        )
        assert members.take({'version': 'v', 'servers': [member(n) for n in numbers]})
        return (tmp_path / 'ran').read_text().splitlines() if (tmp_path / 'ran').exists() else []

    assert taken(1, 2) == ['join 1', 'join 2']
    assert taken(2, 3) == ['leave 1', 'join 3']
    assert taken(2, 3) == []
    state.write_text('[{"server_id": ')
    assert taken(2) == ['join 2']


def test_a_list_that_cannot_be_kept_is_refused(tmp_path):
    (tmp_path / 'join').write_text('#!/bin/sh\n')
    (tmp_path / 'join').chmod(0o755)
    (tmp_path / 'file').touch()
    members = hooks.Members(
        hooks.Directory(str(tmp_path), 5.0), f'{tmp_path}/file/members', 'own', time.monotonic
    )
    with pytest.raises(report.Refused, match=r'--state .*/file/members: '):
        members.take({'version': 'v', 'servers': [member(1)]})
    assert members.version == ''


def test_a_wrong_credential_learns_nothing(place):
    """One line on stderr; nothing was reported."""
    agent = place.start('worker-2', credential='of-the-other', drain=JOB)
    line = agent.stderr.readline()
    assert 'market.app.credential' in line and 'of-the-other' not in line
    assert place.bed.stores.events.hooks([APP]) == {}


@pytest.fixture
def drain(tmp_path):
    """The draining of one server, with real hooks."""
    for name, text in (('drain', '#!/bin/sh\nexit 0\n'), ('undrain', '#!/bin/sh\ntouch "$0ed"\n')):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return hooks.Drain(hooks.Directory(str(tmp_path), 5.0), time.monotonic)


def test_what_was_taken_back_while_no_agent_ran_takes_work_again(drain, tmp_path):
    """Nobody else remembers whether the agent before this one had begun to drain it; once is enough."""
    drain.take(None)
    (tmp_path / 'undrained').unlink()
    drain.take(None)
    assert not (tmp_path / 'undrained').exists()


def test_a_restart_while_it_drains_does_not_undo_it(drain, tmp_path):
    """The order is still there."""
    drain.take({'id': 7, 'begin': True, 'seconds': 60.0})
    assert drain.runs and not (tmp_path / 'undrained').exists()
    drain.end()


def test_a_hook_that_runs_is_looked_after_whoever_joins_meanwhile(drain):
    """A new server has not yet acknowledged the list, so the service takes `begin` back for a minute."""
    drain.take({'id': 7, 'begin': True, 'seconds': 60.0})
    ends = time.monotonic() + 30.0
    while not drain.take({'id': 7, 'begin': False, 'seconds': 60.0}):
        assert time.monotonic() < ends
        time.sleep(0.05)
    assert drain.done == {'id': 7, 'drained': True, 'text': ''}


def test_while_the_service_is_away_the_pauses_are_the_usual_ones(tmp_path):
    """What happened before does not make the agent ask every few seconds."""
    given = hooks.parser().parse_args(['--url', 'http://127.0.0.1:1', '--hooks', str(tmp_path)])
    agent = hooks.Agent(given, CREDENTIAL, APP, OTHER)
    agent._news = True  # private: it needs a service that goes away
    with pytest.raises(report.Refused):
        agent.send(agent.report())
    assert agent._news is False  # private: as above


def test_it_ends_with_its_application(place):
    """Exit status 3, for a unit of systemd that is not to start it again."""
    agent = place.start('worker-2', drain=JOB)
    place.bed.report(APP, total=1.0, done=1.0)
    place.bed.run(2)
    assert agent.wait(20) == 3


def test_a_directory_without_hooks_is_refused(tmp_path, capsys):
    """One line, exit status 2."""
    assert hooks.main(['--url', 'http://127.0.0.1:1', '--hooks', str(tmp_path)]) == 2
    assert 'no executable drain or undrain or join or leave' in capsys.readouterr().err


def test_it_runs_on_the_pythons_of_older_guests():
    """The syntax is that of Python 3.8, and no type is made with what came later."""
    tree = ast.parse(FILES[0].read_text(), feature_version=(3, 8))
    for one in tree.body:
        assert not isinstance(one, ast.Assign) or not isinstance(one.value, ast.Subscript), one
