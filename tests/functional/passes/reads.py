# SPDX-License-Identifier: Apache-2.0
"""Rows that requests read and no pass decides by."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nova_market.core.ledger.posting import account
from nova_market.core.usage.history import UsageFilter
from nova_market.core.usage.resolution import DAY, Resolution
from nova_market.db.refusals import DatabaseRefusals
from nova_market.db.usage_history import DatabaseUsageHistory
from nova_market.errors import BadRow
from tests.functional.passes.app_world import AppWorld
from tests.functional.passes.job_world import JobWorld
from tests.functional.passes.market_world import MarketWorld
from tests.functional.passes.tender_world import TenderWorld
from tests.functional.passes.usage_world import CUT, UsageWorld
from tests.support.job_bed import id_of
from tests.support.poison import NO_JSON, Poison
from tests.support.usage_builders import DAY_BEGIN


@dataclass
class Read:
    """One row among others, and how they are read. key: of the row, in what `read` gives

    alone: nothing is left of what is read when this row is bad
    """

    where: str
    given: dict[str, Any]
    read: Callable[[], list[Any]]
    key: Any
    alone: bool = field(default=False)


def app_events(database):
    events = AppWorld(database).bed.stores.events
    return _events(lambda: events.events('bad', limit=1000))


def bag_events(database):
    world = TenderWorld(database)
    name = world.add_bag('good')
    world.go()
    return _events(lambda: world.bags.events(name))


def _events(read):
    number = read()[0].number
    return Read('id = :id', {'id': number}, lambda: [one.number for one in read()], number)


def purchasing_powers(database):
    history = MarketWorld(database).market.stores.history
    period = history.rounds(limit=1)[0].period
    given = {'period': period, 'project': 'blue'}
    return Read(
        'period = :period AND project_id = :project',
        given,
        lambda: [one.project_id for one in history.powers(period, period)],
        'blue',
    )


def postings(database):
    ledger = MarketWorld(database).market.stores.ledger
    lines = ledger.statement(account('project', 'blue'))
    assert len(lines) > 1
    return Read(
        'id = :id',
        {'id': lines[0].number},
        lambda: [one.number for one in ledger.statement(account('project', 'blue'))],
        lines[0].number,
    )


def job_minutes(database):
    world = JobWorld(database)
    world.go(20)
    queues, queue = world.bed.stores.queues, id_of('day')
    first = int(world.bed.clock.wall()) // 60 - 1000

    def read():
        return [one.minute for one in queues.minutes(queue, first, first + 2000)]

    minute = read()[0]
    given = {'minute': minute, 'queue': queue}
    return Read('minute = :minute AND queue_id = :queue', given, read, minute)


def job_contents(database):
    world = JobWorld(database)
    world.bed.submit('good', 'day')
    jobs = world.bed.stores.jobs
    name = jobs.job(id_of('good')).content_id

    def read():
        try:
            return [jobs.content(name).id]
        except BadRow:
            return []

    return Read('id = :id', {'id': name}, read, name)


def job_hosts(database):
    world = JobWorld(database)
    world.go()
    return Read('1 = 1', {}, lambda: list(world.bed.stores.queues.hosts()), None, alone=True)


def usage_series(database):
    UsageWorld(database)
    history = DatabaseUsageHistory(database)

    def read():
        found = history.series(UsageFilter(), DAY_BEGIN, DAY_BEGIN + DAY)
        return [one.series.server_id for one in found]

    return Read('server_id = :id', {'id': 'bad'}, read, 'bad')


def usage_ten_minutes(database):
    world = UsageWorld(database)
    world.go_far()
    history, end = DatabaseUsageHistory(database), DAY_BEGIN + DAY
    chosen = UsageFilter(windows={'bad': ((DAY_BEGIN, end),)})

    def read():
        found = history.series(chosen, DAY_BEGIN, end)
        sums = history.by_span(found, chosen, Resolution.TEN_MINUTES, DAY_BEGIN, end)
        return sums.keys.tolist()

    assert len(read()) > 1
    return Read('at = :at AND shard = 0', {'at': DAY_BEGIN}, read, DAY_BEGIN)


def refused_requests(database):
    store = DatabaseRefusals(database)
    store.add({('project', 'bad'): 2, ('project', 'good'): 1})
    given = {'project': 'bad'}
    return Read('project_id = :project', given, lambda: [one for _, one in store.totals()], 'bad')


READS = [
    (app_events, Poison(table='app_events', column='numbers', value=NO_JSON, kind='app event')),
    (bag_events, Poison(table='bag_events', column='at', value='then', kind='bag event')),
    (
        purchasing_powers,
        Poison(table='purchasing_powers', column='wealth', value='all', kind='purchasing power'),
    ),
    (postings, Poison(table='postings', column='reason', value='fun', kind='posting')),
    (job_minutes, Poison(table='job_minutes', column='cores', value='all', kind='minute')),
    (
        job_contents,
        Poison(table='job_contents', column='environment', value=NO_JSON, kind='content'),
    ),
    (
        refused_requests,
        Poison(table='refused_requests', column='total', value='all', kind='refused requests'),
    ),
    (job_hosts, Poison(table='job_hosts', column='sizes', value=NO_JSON, kind='document')),
    (usage_series, Poison(table='usage_series', column='vcpus', value='all', kind='usage series')),
    (
        usage_ten_minutes,
        Poison(table='usage_ten_minutes', column='content', value=CUT, kind='usage'),
    ),
]
