# SPDX-License-Identifier: Apache-2.0
"""What a guest, its owner and whole coalitions of projects can do about what jobs cost (rule J8).

Everything that leaves a guest is sent to the real API here, as whoever has root in it can send it.
"""

from contextlib import suppress
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from nova_market.core.app.credential import digest
from nova_market.core.job.attempt import LAST_NOTICE
from nova_market.core.job.record import ENDED, OPEN_ATTEMPT, JobState, JobWish
from nova_market.core.ledger.posting import ESCROW, account
from nova_market.db.escrow import DatabaseEscrow
from tests.support.job_bed import PACE, STEP, JobBed, host, id_of
from tests.support.servers.databases import empty_all

pytestmark = pytest.mark.functional

PRICE = 3600
"""Micro-credits per core and hour: one per core-second."""

CREDITS = 100_000
LIMIT = 600
"""Seconds, and micro-credits: what a run of a job of one core may cost."""


@pytest.fixture
def bed(fast):
    """One host of two cores, whose queue is red's; blue and green pay."""
    return paid(fast)


def paid(base):
    found = JobBed(base, hosts=[host('a', cores=2.0, mib=2048.0)])
    found.add_queue('night', 'red', share=1.0, price_core_hour=PRICE)
    for project in ('blue', 'green'):
        found.grant(project, CREDITS)
    return found


def submit(bed, name, project='blue', **more):
    given = {'cost_limit': LIMIT, 'time_limit': LIMIT, 'best_effort': True, **more}
    return bed.submit(name, 'night', project=project, **given)


def has(bed, project):
    return bed.balance(account('project', project))


def in_escrow(bed):
    """All of it is somebody's (M6 of market.rst)."""
    assert bed.ledger.discrepancies() == []
    found = bed.balance(ESCROW)
    assert sum(DatabaseEscrow(bed.database).held().values()) == found
    return found


@dataclass
class Hostile:
    """Whoever has root in the guest of a job: no agent calls, and these messages instead."""

    bed: JobBed
    job_id: str

    def __post_init__(self):
        self.bed.guests.away = True
        self.bed.until(lambda: self._part() is not None)

    def _part(self):
        """What it runs, as the service knows it."""
        parts = self.bed.stores.attempts.attempts([self.job_id]).get(self.job_id, ())
        open_parts = [one for one in parts if one.state in OPEN_ATTEMPT]
        there = [one for one in open_parts if one.worker_id in self._agents()]
        return there[0] if there else None

    def _agents(self):
        return {one.worker_id: one for one in self.bed.guests.agents.values()}

    def _session(self, worker_id):
        """That of its agent, of which it can read all that there is."""
        agent = self._agents()[worker_id]
        kept = (digest(agent.credential), digest(agent.session))
        self.bed.stores.attempts.exchange(worker_id, *kept)
        agent.credential = agent.session
        return agent.session

    def send(self, what, **body):
        """The status of the answer; None: there is nothing to send it for."""
        part = self._part()
        if part is None:
            return None
        if what != 'next':
            body = {'job_id': part.job_id, 'attempt': part.number, **body}
        credential = self._session(part.worker_id)
        path = f'/v1/worker/{part.worker_id}/{what}'
        answer = self.bed.market.call('POST', path, json={'credential': credential, **body})
        return answer.status_code

    def off(self):
        """It shuts its server down."""
        part = self._part()
        if part is not None:
            agents = self.bed.guests.agents
            server = next(s for s, one in agents.items() if one.worker_id == part.worker_id)
            with suppress(KeyError):
                self.bed.owners.stop(server)

    def had(self):
        """Core-seconds of each attempt from when it got its script to the last that it did with it."""
        parts = self.bed.stores.attempts.attempts([self.job_id]).get(self.job_id, ())
        # one that was taken back is charged in parts
        began = [min(one.given_at, one.started_at or one.given_at) for one in parts]
        return [
            max(one.reported_at, since) - since
            for one, since in zip(parts, began, strict=True)
            if since
        ]


ENDS = {
    'finish': ('result', {'end': 'exit', 'exit_code': 0}),
    'fail': ('result', {'end': 'exit', 'exit_code': 1}),
    'saved': ('result', {'end': 'stopped', 'checkpoint': 0}),
    'stopped': ('result', {'end': 'stopped', 'checkpoint': 1}),
    'cancelled': ('result', {'end': 'cancelled'}),
    'limit': ('result', {'end': 'time_limit'}),
    'anew': ('next', {}),
}


def act(guest, action):
    if action == 'off':
        guest.off()
    elif action == 'beat':
        guest.send('heartbeat')
    elif action in ENDS:
        what, body = ENDS[action]
        guest.send(what, **({'wall_seconds': 1.0} if what == 'result' else {}), **body)


@pytest.mark.parametrize('end', ['anew', 'off', 'silence', 'stopped', 'saved', 'fail'])
def test_work_that_was_done_is_paid_whatever_the_guest_says_then(bed, end):
    """It has worked for a minute; then it starts its agent anew, shuts down, or says nothing any more.

    Its job may be run again, and ends at once then.
    """
    guest = Hostile(bed, submit(bed, 'a', retries=3))
    guest.send('next')
    for _ in range(12):
        guest.send('heartbeat')
        bed.pass_()
    act(guest, end)
    bed.until(lambda: bed.job(guest.job_id).charged >= 60 or bed.job(guest.job_id).state in ENDED)
    assert 60 <= bed.job(guest.job_id).charged == has(bed, 'red')
    # the try after it is over at once
    bed.guests.away = False
    bed.until(bed.all_ended)
    assert bed.job(guest.job_id).charged == has(bed, 'red') == CREDITS - has(bed, 'blue')
    assert in_escrow(bed) == 0


@pytest.mark.parametrize('order', ['limit', 'cancel', 'requeue', 'displaced'])
def test_a_notice_is_no_time_for_nothing(bed, order):
    """A guest that does not end at the time limit runs no longer for its notice, which is ten times as long.

    Nor does one that is told to end a moment before.
    """
    more = {'time_limit': 60, 'cost_limit': 60, 'notice': 600, 'retries': 0}
    guest = Hostile(bed, submit(bed, 'a', **more))
    guest.send('next')
    for number in range(100):
        if guest.send('heartbeat') != 200 or len(guest.had()) > 1:
            break
        if number == 10 and order in ('cancel', 'requeue'):
            bed.stores.jobs.want(guest.job_id, JobWish(order), 'by blue')
        elif number == 10 and order == 'displaced':
            submit(bed, 'other', 'green', best_effort=False, sleep=STEP, flavor='large')
        bed.pass_()
    margin = bed.settings.progress.margin + 2 * STEP
    assert 60 <= guest.had()[0] <= bed.job(guest.job_id).charged + LAST_NOTICE + margin


def test_silence_makes_no_job_longer(bed):
    """Each time that it is given up it comes back before anything else has started, until its limit."""
    guest = Hostile(bed, submit(bed, 'a', time_limit=100, cost_limit=100, notice=0, retries=10))
    guest.send('next')
    guest.send('heartbeat')
    ((part,),) = bed.stores.attempts.attempts([guest.job_id]).values()
    (agent,) = bed.guests.agents.values()
    body = {'credential': agent.session, 'job_id': guest.job_id, 'attempt': part.number}
    for number in range(100):
        if number % 8 == 0:
            answer = bed.market.call('POST', f'/v1/worker/{part.worker_id}/heartbeat', json=body)
            if answer.status_code != 200:
                break
        bed.pass_()
    (ran,) = guest.had()
    longest = 100 + bed.settings.progress.margin + 8 * STEP
    assert 100 <= ran <= longest and bed.job(guest.job_id).lost > 0
    assert ran <= bed.job(guest.job_id).charged == has(bed, 'red')


def test_a_run_is_paid_whatever_the_operator_claims(bed):
    """What it costs was held before; it is not run again for what is claimed."""
    job_id = submit(bed, 'a', sleep=30.0)
    bed.accounts.claim({'blue': CREDITS})
    bed.until(bed.all_ended)
    assert bed.job(job_id).charged == has(bed, 'red') == CREDITS - has(bed, 'blue') >= 30
    assert in_escrow(bed) == 0


def test_what_the_cloud_ends_is_free(bed):
    """Its server is gone by Nova's record, and the job is run again without a new hold."""
    job_id = submit(bed, 'a', sleep=30.0)
    bed.until(lambda: bed.guests.running())
    bed.run(3)
    (server,) = bed.owners.made
    bed.owners.remove(server)
    bed.until(lambda: bed.job(job_id).attempt == 2 and bed.guests.running())
    assert (bed.job(job_id).charged, in_escrow(bed)) == (0, LIMIT)
    bed.until(bed.all_ended)
    assert 30 <= bed.job(job_id).charged == CREDITS - has(bed, 'blue') < 45


def test_what_a_failed_host_ends_is_free(bed):
    """Nova notices it a minute after its last report; until then nobody decides."""
    job_id = submit(bed, 'a', sleep=500.0)
    bed.until(lambda: bed.guests.running())
    bed.run(20)
    (server,) = bed.owners.made
    bed.guests.mute.add(server)
    failed = replace(bed.hosts[0], reported_at=bed.clock.wall() - 5.0)
    bed.cloud.put_host(failed)
    bed.run(int(PACE.silence / STEP) + 2)
    assert (bed.job(job_id).lost, bed.job(job_id).state) == (0, JobState.RUNNING)
    bed.cloud.put_host(replace(failed, answering=False))
    bed.run(1)
    assert (bed.job(job_id).lost, bed.job(job_id).charged) == (1, 0)


def test_who_displaces_himself_pays(bed):
    """A long job of one's own that is displaced by a short one of one's own was no gift of the queue."""
    long = [submit(bed, f'long{n}', sleep=500.0) for n in range(2)]
    bed.until(lambda: len(bed.guests.running()) == 2)
    bed.run(60)
    submit(bed, 'short', best_effort=False, sleep=10.0)
    bed.until(lambda: bed.state('short') is JobState.FINISHED)
    charged = max(bed.job(one).charged for one in long)
    assert charged >= 300 and bed.job(long[0]).compensation == bed.job(long[1]).compensation == 0
    assert has(bed, 'red') >= 300


def test_a_free_job_is_owed_nothing(bed):
    """Jobs of the queue's own project cost nothing, so a customer owes nothing for displacing them."""
    for name in ('x', 'y'):
        submit(bed, name, project='red', sleep=500.0)
    bed.until(lambda: len(bed.guests.running()) == 2)
    bed.run(20)
    job_id = submit(bed, 'a', best_effort=False, sleep=20.0)
    bed.until(lambda: bed.job(job_id).state in ENDED)
    assert {bed.state('x'), bed.state('y')} & {
        JobState.WAITING,
        JobState.STARTING,
        JobState.RUNNING,
    }
    assert has(bed, 'blue') == CREDITS - bed.job(job_id).charged and in_escrow(bed) == 0


def test_what_a_checkpoint_says_costs_nobody_else(bed):
    """It has saved, so it is owed nothing; that the script has failed makes nothing free."""
    guest = Hostile(bed, submit(bed, 'a', saves=True))
    guest.send('next')
    guest.send('heartbeat')
    submit(bed, 'full', project='red', sleep=500.0, best_effort=False, cost_limit=0)
    for _ in range(12):
        guest.send('heartbeat')
        bed.pass_()
    urgent = submit(bed, 'urgent', project='green', best_effort=False, cost_limit=LIMIT)
    bed.until(lambda: bed.job(guest.job_id).state is JobState.PREEMPTING)
    act(guest, 'stopped')
    bed.until(lambda: bed.job(guest.job_id).state is JobState.WAITING)
    job = bed.job(guest.job_id)
    assert job.charged >= 60 and (job.compensation, job.owed) == (0, 0)
    assert bed.job(urgent).reserve == LIMIT


def test_one_reserve_pays_for_all_that_a_job_displaces(bed):
    """Two jobs of an hour each, for one of a minute: it owes a minute of a core for each, and holds that."""
    victims = [submit(bed, f'v{n}', sleep=500.0) for n in range(2)]
    bed.until(lambda: len(bed.guests.running()) == 2)
    bed.run(80)
    short = submit(
        bed, 'w', project='green', best_effort=False, servers=2, time_limit=60, cost_limit=120,
        sleep=20.0,
    )  # fmt: skip
    bed.until(lambda: bed.job(short).state in ENDED)
    job = bed.job(short)
    paid_to = [bed.job(one).compensation for one in victims]
    assert 0 < sum(paid_to) <= job.cost_limit
    assert has(bed, 'green') == CREDITS - job.charged - sum(paid_to)
    bed.until(bed.all_ended)
    assert in_escrow(bed) == 0


ACTIONS = st.lists(
    st.sampled_from([*ENDS, 'beat', 'beat', 'beat', 'off', 'silence', 'silence']), max_size=12
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=ACTIONS, retries=st.integers(0, 3), displaced=st.booleans())
@example(actions=['next', 'beat', 'beat', 'beat', 'anew'], retries=3, displaced=False)
@example(actions=['beat', 'beat', 'off'], retries=1, displaced=True)
def test_no_messages_make_a_job_cheaper(fast, actions, retries, displaced):
    """Whatever a guest sends, in whatever order: each second between its script and its last word is paid.

    displaced: another project's job wants its room in the middle of it
    """
    empty_all(fast)
    bed = paid(fast)
    guest = Hostile(bed, submit(bed, 'a', retries=retries))
    guest.send('next')
    for number, action in enumerate(actions):
        if displaced and number == len(actions) // 2:
            submit(bed, 'other', 'green', best_effort=False, sleep=STEP, flavor='large')
        act(guest, action)
        bed.pass_()
    bed.guests.away = False
    bed.until(bed.all_ended, passes=400)
    job = bed.job(guest.job_id)
    assert sum(guest.had()) <= job.charged == CREDITS - has(bed, 'blue') + job.compensation
    # nor do both projects together: what one pays the other is nothing that the queue's owner lacks
    others = [bed.job(id_of('other')).charged] if 'other' in bed.states() else []
    both = 2 * CREDITS - has(bed, 'blue') - has(bed, 'green')
    assert both == has(bed, 'red') == job.charged + sum(others)
    assert in_escrow(bed) == 0
