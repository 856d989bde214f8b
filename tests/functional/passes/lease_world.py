# SPDX-License-Identifier: Apache-2.0
"""Leases of two projects, and hosts that are powered down, under the service of leases."""

from nova_market.core.lease.record import LeaseState
from nova_market.core.power.host_step import Phase
from tests.functional.passes.world import Bad, World
from tests.support.job_bed import host
from tests.support.lease_bed import LeaseBed
from tests.support.lease_records import HOUR
from tests.support.poison import NO_JSON, UNKNOWN, Poison
from tests.support.power_bed import PowerBed


class LeaseWorld(World):
    """bad: of blue; good: of red; both begin in an hour and take an hour."""

    service = 'leases'

    def __init__(self, database):
        super().__init__(database)
        self.bed = LeaseBed(database)
        self.cloud = self.bed.cloud
        self.bed.run(20)
        self.good = self.bed.book('red', after=HOUR)
        self.bad = self.bed.book('blue', after=HOUR)
        self.bed.run(20)

    def prepare(self, poison):
        return getattr(self, f'_{poison.table}')(poison)

    def _leases(self, poison):
        return Bad(self.bad.id, 'blue', 'id = :id', {'id': self.bad.id})

    def _lease_nodes(self, poison):
        return Bad(self.bad.id, 'blue', 'lease_id = :id AND place = 0', {'id': self.bad.id})

    def _lease_events(self, poison):
        (number,) = [one.number for one in self.bed.leases.events(self.bad.id)]
        self.bed.states.write('lease_notices', {'number': number - 1})
        self.bed.service = self.bed.another()
        return Bad(str(number), '', 'id = :id', {'id': number})

    def _job_states(self, poison):
        if poison.name == 'forecast':
            self.bed.states.write('forecast', {})
        self.bed.service = self.bed.another()
        return Bad(poison.name, '', 'name = :name', {'name': poison.name})

    def go(self):
        self.bed.run(60)

    def go_far(self):
        self.bed.run(2.5 * HOUR, step=300.0)

    def check_others(self, poison):
        found = self.bed.read(self.good)
        assert (found.state, found.charged) == (LeaseState.ENDED, found.cost)
        happened = self.bed.actions(self.good)
        assert happened == ['booked', 'starting', 'started', 'ending', 'ended']
        if poison.name != 'lease_notices':
            events = [e for e, p, _ in self.bed.notices.sent if p == 'red']
            assert events.count('market.lease.ended') == 1

    def check_bad(self, poison):
        assert self.bed.read(self.bad).over, 'its time has gone by'


class PowerWorld(World):
    """Three hosts with nothing on them: `a` goes bad when it is off."""

    service = 'leases'

    def __init__(self, database):
        super().__init__(database)
        self.bed = PowerBed(database, hosts=[host(name) for name in 'abc'])
        self.bed.run(3000.0)
        assert self.bed.phases().get('a') is Phase.OFF, self.bed.phases()

    def prepare(self, poison):
        if poison.table == 'power_hosts':
            return Bad('a', '', 'host = :host', {'host': 'a'})
        if poison.table == 'power_events':
            number = self.bed.power.events('a', limit=1)[0].number
            self.bed.states.write('power_notices', {'number': number - 1})
            self.bed.service = self.bed.another()
            return Bad(str(number), '', 'id = :id', {'id': number})
        self.bed.service = self.bed.another()
        return Bad(poison.name, '', 'name = :name', {'name': poison.name})

    def go(self):
        self.bed.run(300.0)

    def go_far(self):
        """Two hosts are wanted for two hours; so those that can be are woken, and go down again."""
        self.lease = self.bed.book(after=HOUR, nodes=2, whole=True, duration=HOUR)
        self.bed.run(1.5 * HOUR)
        self.up = {name for name in 'abc' if name not in self.bed.phases()}
        self.bed.run(3 * HOUR)

    def check_others(self, poison):
        assert self.bed.read(self.lease).state is LeaseState.ENDED
        if poison.table == 'power_hosts':
            assert {'b', 'c'} <= self.up
            orders = [name for _, name, _ in self.bed.machines.orders[-4:]]
            assert 'a' not in orders, 'where it is on its way cannot be guessed'

    def check_bad(self, poison):
        assert self.bed.read(self.lease).state is LeaseState.ENDED
        assert self.bed.phases()


OF_LEASES = [
    Poison(table='leases', column='state', value=UNKNOWN, kind='lease'),
    Poison(table='leases', column='hosts', value=NO_JSON, kind='lease'),
    Poison(table='leases', column='start', value='noon', kind='lease'),
    Poison(table='leases', column='end', value=1.0, kind='lease'),
    Poison(table='leases', column='cost', value=2**60, kind='lease'),
    Poison(table='leases', column='cores', value=-4.0, kind='lease'),
    Poison(table='lease_nodes', column='cores', value='all', kind='lease'),
    Poison(table='lease_events', column='numbers', value=NO_JSON, kind='lease event', once=True),
    *(
        Poison(
            table='job_states', column='document', value=value, kind='document', name=name,
            stage=stage,
        )
        for name, shape in (('forecast', b'{"at": 1}'), ('lease_notices', b'{"number": "all"}'))
        for value, stage in ((NO_JSON, 'read'), (shape, 'parse'))
    ),
]  # fmt: skip
OF_POWER = [
    Poison(table='power_hosts', column='phase', value=UNKNOWN, kind='power of host'),
    Poison(table='power_hosts', column='since', value='then', kind='power of host'),
    Poison(table='power_hosts', column='revision', value='first', kind='power of host'),
    Poison(table='power_events', column='numbers', value=NO_JSON, kind='host event', once=True),
    *(
        Poison(
            table='job_states', column='document', value=value, kind='document', name=name,
            stage=stage, heals=name == 'power_watch',
        )
        for name, shape in (
            ('power_watch', b'{"demand": 1}'), ('power_notices', b'{"number": "all"}'),
        )
        for value, stage in ((NO_JSON, 'read'), (shape, 'parse'))
    ),
]  # fmt: skip
