# SPDX-License-Identifier: Apache-2.0
"""Two queues with a job each and a third job beside the one that is poisoned, under the service of jobs."""

from nova_market.adapters.in_memory.notifications import RecordedNotices
from nova_market.core.job.record import JobState
from nova_market.services.job.notices import JobNotices
from nova_market.services.job.statistics import JobStatistics
from tests.functional.passes.world import Bad, World
from tests.support.job_bed import STEP, JobBed, id_of
from tests.support.poison import NO_JSON, UNKNOWN, Poison

PROJECT = 'blue'


def run_passes(bed, passes):
    """As JobBed.run, without looking at what cannot be read."""
    for _ in range(passes):
        bed.guests.tick()
        bed.service.turn()
        bed.clock.advance(STEP)


class JobWorld(World):
    """bad, beside: in queue `day` of blue; good: in queue `night` of red."""

    service = 'jobs'

    def __init__(self, database):
        super().__init__(database)
        self.bed = JobBed(database)
        self.cloud = self.bed.cloud
        for name, project in (('night', 'red'), ('day', PROJECT)):
            self.bed.add_queue(name, project)
        self.sent = RecordedNotices()
        self.lead()

    def lead(self):
        """Another service leads, which knows nothing but what is stored."""
        stores = self.bed.stores
        parts = {'jobs': stores.jobs, 'attempts': stores.attempts, 'states': stores.states}
        sender = JobNotices(
            **parts, notices=self.sent, clock=self.bed.clock, boundary=self.database.boundary
        )
        reporter = JobStatistics(**parts, queues=stores.queues, boundary=self.database.boundary)
        self.bed.service = self.bed.another(sender=sender, reporter=reporter)

    def prepare(self, poison):
        return getattr(self, f'_{poison.table}')(poison)

    def _jobs(self, poison):
        if poison.column == 'after':
            first = self.bed.submit('first', 'day', sleep=40.0)
            self.bed.submit('bad', 'day', sleep=20.0, after=(first,), state=JobState.HELD)
        else:
            self.bed.submit('bad', 'day', sleep=20.0)
        if poison.column in ('cost_limit', 'wish'):
            self._until_it_runs()
        self.submit_others()
        return Bad(id_of('bad'), PROJECT, 'id = :id', {'id': id_of('bad')})

    def _job_attempts(self, poison):
        self.bed.submit('bad', 'day', sleep=300.0)
        self._until_it_runs()
        self.submit_others()
        return Bad(id_of('bad'), PROJECT, 'job_id = :id', {'id': id_of('bad')})

    def _job_workers(self, poison):
        self._job_attempts(poison)
        (worker,) = [
            one for one in self.bed.stores.attempts.workers() if one.job_id == id_of('bad')
        ]
        return Bad(worker.id, PROJECT, 'id = :id', {'id': worker.id})

    def _job_queues(self, poison):
        self.bed.submit('bad', 'day', sleep=300.0)
        self._until_it_runs()
        self.bed.submit('good', 'night')
        return Bad(id_of('day'), PROJECT, 'id = :id', {'id': id_of('day')})

    def _job_states(self, poison):
        if poison.name == 'tender_prices':
            self.bed.add_queue('sold', PROJECT, policy='tender', share=0.0, price_core_hour=3600)
        self.bed.submit('first', 'night', sleep=80.0)
        self.go(15)
        assert self.bed.states()['first'] == 'running'
        self.lead()
        self.submit_others()
        return Bad(poison.name, '', 'name = :name', {'name': poison.name})

    def _job_events(self, poison):
        self.bed.submit('bad', 'day', sleep=20.0)
        self._until_it_runs()
        events = self.bed.stores.attempts.events(id_of('bad'))
        (number,) = [one.number for one in events if one.action == 'started']
        self.lead()
        self.submit_others()
        self.bed.stores.states.write('notices', {'number': number - 1})
        return Bad(str(number), '', 'id = :id', {'id': number})

    def go(self, passes=4):
        run_passes(self.bed, passes)

    def go_far(self):
        self.go(40)

    def check_others(self, poison):
        states = {n: s for n, s in self.bed.states().items() if n in ('good', 'beside')}
        assert states and {*states.values()} == {'finished'}, states
        if poison.table in ('job_attempts', 'job_workers', 'job_queues'):
            # what cannot be read is not taken to be gone
            assert id_of('bad') in {one for one, _ in self.bed.guests.running()}
        if poison.name != 'notices':
            sent = [payload['name'] for event, _, payload in self.sent.sent if 'finished' in event]
            assert {*states} <= {*sent} and len(sent) == len({*sent}), sent

    def check_bad(self, poison):
        if poison.table == 'job_events':
            return  # what was left out is not sent later
        if poison.table == 'job_states':
            assert self.bed.states()['first'] == 'finished'
            assert self.bed.stores.states.read(poison.name)
        else:
            assert self.bed.state('bad') is JobState.FINISHED

    def submit_others(self):
        self.bed.submit('beside', 'day')
        self.bed.submit('good', 'night')

    def _until_it_runs(self):
        self.bed.until(lambda: self.bed.guests.running())


OF_JOBS = [
    Poison(table='jobs', column='state', value=UNKNOWN, kind='job'),
    Poison(table='jobs', column='kind', value=UNKNOWN, kind='job'),
    Poison(table='jobs', column='cores', value='many', kind='job'),
    Poison(table='jobs', column='memory_mib', value=-1.0, kind='job'),
    Poison(table='jobs', column='servers', value=2**40, kind='job'),
    Poison(table='jobs', column='cost_limit', value=2**60, kind='job'),
    Poison(table='jobs', column='wish', value=UNKNOWN, kind='job'),
    Poison(table='jobs', column='after', value=NO_JSON, kind='job'),
    Poison(table='job_attempts', column='state', value=UNKNOWN, kind='job'),
    Poison(table='job_attempts', column='usage', value=NO_JSON, kind='job'),
    Poison(table='job_attempts', column='given_at', value='once', kind='job'),
    Poison(table='job_workers', column='state', value=UNKNOWN, kind='worker'),
    Poison(table='job_workers', column='cores', value=1e300, kind='worker'),
    Poison(table='job_queues', column='state', value=UNKNOWN, kind='queue'),
    Poison(table='job_queues', column='settings', value=NO_JSON, kind='queue'),
    Poison(table='job_queues', column='settings', value=b'{}', kind='queue'),
    Poison(table='job_queues', column='share', value=7.0, kind='queue'),
    Poison(table='job_events', column='numbers', value=NO_JSON, kind='job event', once=True),
    Poison(table='job_events', column='at', value='then', kind='job event', once=True),
    *(
        Poison(
            table='job_states',
            column='document',
            value=value,
            kind='document',
            name=name,
            stage=stage,
            heals=name not in ('notices', 'tender_prices'),
        )
        for name, shape in (
            ('pass', b'{"order": 7}'),
            ('usage', b'{"of": [[1]]}'),
            ('worker_starts', b'{"small": [[1]]}'),
            ('minutes', b'{"since": 1}'),
            ('notices', b'{"number": "all"}'),
        )
        for value, stage in ((NO_JSON, 'read'), (shape, 'parse'))
    ),
    Poison(
        table='job_states', column='document', value=NO_JSON, kind='document', name='tender_prices'
    ),
]
