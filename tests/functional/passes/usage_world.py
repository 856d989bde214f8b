# SPDX-License-Identifier: Apache-2.0
"""Two servers whose use is in different rows of the history, under what the engine records of it."""

from sqlalchemy import insert

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.core.market.inventory import CloudServer
from nova_market.core.usage.history import UsageFilter
from nova_market.core.usage.resolution import DAY, TEN_MINUTES, Resolution
from nova_market.core.usage.use import MINUTE, MinuteUse
from nova_market.db.usage import DatabaseUsage
from nova_market.db.usage_history import DatabaseUsageHistory
from nova_market.db.usage_tables import SHARD, usage_series
from nova_market.services.usage.recorder import SETTLED, UsageRecorder
from nova_market.wiring.database import set_aside_report
from tests.functional.passes.world import Bad, World
from tests.support.poison import Poison
from tests.support.usage_builders import DAY_BEGIN, series, use

NOTHING = b'\x01\x00'
CUT = b'\x02\x01\x00\x00\x00 no LZMA'
SERVERS = ('bad', 'good')


class UsageWorld(World):
    """bad: in shard 0; good: in shard 1."""

    service = 'engine'

    def __init__(self, database):
        super().__init__(database)
        self.clock = ManualClock(wall=DAY_BEGIN)
        self.aside = set_aside_report('engine', database, self.clock)
        self.recorder = self._engine()
        self._know('bad')
        self.minute('bad')
        database.write(self._fill)
        self._know(*SERVERS)
        self.minutes(3 * TEN_MINUTES // MINUTE)

    def _engine(self):
        """As it is after a start, which knows nothing of what has been reported."""
        return UsageRecorder(
            DatabaseUsage(self.database), self.clock, lambda: True, self.database.boundary
        )

    def _fill(self, connection):
        """So many series are before the next one that this one is in another row."""
        one = series('filler')
        values = {name: getattr(one, name) for name in one.__slots__}
        ends = {'first_at': DAY_BEGIN, 'last_at': DAY_BEGIN + DAY}
        connection.execute(insert(usage_series).values(number=SHARD - 1, **values, **ends))

    def _know(self, *servers):
        self.recorder.know(
            CloudServer(id=one, project_id='red', host='h1', vcpus=2, memory_mib=512)
            for one in servers
        )

    def minute(self, *servers):
        """One goes by, and is reported."""
        at = int(self.clock.wall()) // MINUTE * MINUTE
        self.clock.advance(MINUTE + SETTLED - self.clock.wall() % MINUTE)
        self.recorder.take('h1', MinuteUse(at=at, servers={one: use() for one in servers}))
        with self.aside.kept():
            self.recorder.turn()

    def minutes(self, count):
        for _ in range(count):
            self.minute(*SERVERS)

    def prepare(self, poison):
        if poison.table == 'usage_progress':
            return Bad('rolled', '', 'name = :name', {'name': 'rolled'})
        last = int(self.clock.wall()) // MINUTE * MINUTE - MINUTE
        at = DAY_BEGIN if poison.table == 'usage_days' else last
        where = {'at': at, 'shard': 0}
        return Bad(f'{poison.table}/{at}/0', '', 'at = :at AND shard = :shard', where)

    def go(self):
        self.recorder = self._engine()
        self._know(*SERVERS)
        self.recorder.take('h1', self._again())
        self.minutes(1)

    def _again(self):
        """What was reported in the last minute."""
        last = int(self.clock.wall()) // MINUTE * MINUTE - MINUTE
        return MinuteUse(at=last, servers={one: use() for one in SERVERS})

    def go_far(self):
        self.minutes(3 * TEN_MINUTES // MINUTE)

    def check_others(self, poison):
        assert self._measured('good') == self._rolled() - self._begun('good')
        if poison.table == 'usage_minutes':
            assert self._measured('bad') == self._rolled() - DAY_BEGIN - MINUTE

    def check_bad(self, poison):
        if poison.table == 'usage_progress':
            assert self._measured('bad') == self._rolled() - DAY_BEGIN
        assert self._measured('bad') >= 4 * TEN_MINUTES - MINUTE

    def _begun(self, server):
        return DAY_BEGIN + (MINUTE if server == 'good' else 0)

    def _rolled(self):
        history = DatabaseUsageHistory(self.database)
        chosen = UsageFilter()
        found = history.series(chosen, DAY_BEGIN, DAY_BEGIN + DAY)
        sums = history.by_span(found, chosen, Resolution.TEN_MINUTES, DAY_BEGIN, DAY_BEGIN + DAY)
        return int(sums.keys[-1]) + TEN_MINUTES

    def _measured(self, server):
        """Seconds of it in the day."""
        history = DatabaseUsageHistory(self.database)
        chosen = UsageFilter(windows={server: ((DAY_BEGIN, DAY_BEGIN + DAY),)})
        found = history.series(chosen, DAY_BEGIN, DAY_BEGIN + DAY)
        sums = history.by_series(found, chosen, Resolution.DAY, DAY_BEGIN, DAY_BEGIN + DAY)
        return int(sums.amounts[:, 0].sum())


OF_USAGE = [
    Poison(table='usage_minutes', column='content', value=NOTHING, kind='usage', once=True),
    Poison(table='usage_minutes', column='content', value=CUT, kind='usage', once=True),
    Poison(table='usage_days', column='content', value=CUT, kind='usage'),
    Poison(table='usage_progress', column='at', value='then', kind='usage progress', heals=True),
]
