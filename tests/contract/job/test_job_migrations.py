# SPDX-License-Identifier: Apache-2.0
"""What is stored of queues and workers by an older version, after the upgrade, on every database."""

from dataclasses import replace

import pytest
from sqlalchemy import column as column_of
from sqlalchemy import insert, table, text

from nova_market.db import schema
from nova_market.db.database import Database
from nova_market.db.job_attempts import DatabaseJobAttempts
from nova_market.db.queues import DatabaseQueues
from nova_market.errors import QueueNameTaken
from tests.support.job_records import id_of, queue
from tests.support.servers.databases import Wall

BEFORE = '5d20e8b1f7c4'
SETTINGS = (
    b'{"description": "", "policy": "flexible", "parameters": {}, "short_below": 1800, "flavors": ["small"],'
    b' "image": "i", "networks": [], "reuse": true, "idle_seconds": 60, "limits": {}, "projects": ["blue"],'
    b' "roles": [], "weights": {}, "price_core_hour": 0, "price_rule": "settled"}'
)


def put(connection, of, /, **values):
    """A row, by its columns alone."""
    connection.execute(insert(table(of, *map(column_of, values))), values)


@pytest.fixture
def upgraded(empty):
    """A queue of red with three workers, of which one has not called and one has a job of blue's."""
    schema.sync(empty, BEFORE)
    with empty.engine.begin() as connection:
        put(
            connection, 'job_queues', id=id_of('night'), name='night', project_id='red', user_id='ann',
            share=0.25, settings=SETTINGS, state='open', generation=1, created_at=1.0, changed_at=1.0,
        )  # fmt: skip
        put(
            connection, 'jobs', number=1, id=id_of('a'), queue_id=id_of('night'), project_id='blue',
            user_id='bob', name='a', kind='production', priority=100, weight=1.0, flavor='small', cores=1.0,
            memory_mib=1.0, disk_gib=0.0, servers=1, time_limit=60, array_index=0, array_size=0,
            after_condition='', retries=0, least_run_time=0, notice=0, preempt_action='requeue', value=0,
            not_before=0.0, cost_limit=0, submitted_at=1.0, state='running', wish='run', changed_at=1.0,
        )  # fmt: skip
        for name, seen_at, job_id in (('new', 0, ''), ('idle', 5, ''), ('busy', 5, id_of('a'))):
            put(
                connection, 'job_workers', id=id_of(name), queue_id=id_of('night'), flavor='small',
                cores=1.0, memory_mib=1.0, disk_gib=0.0, intention='present', state='idle',
                credential=name[0] * 64, created_at=1.0, seen_at=seen_at, job_id=job_id,
            )  # fmt: skip
    schema.sync(empty)
    return empty


def test_agents_that_have_called_are_let_in_as_before(upgraded):
    """Whose jobs an idle worker has run is not known: it gets none of anybody else's."""
    attempts = DatabaseJobAttempts(upgraded)
    found = {name: attempts.worker(id_of(name)) for name in ('new', 'idle', 'busy')}
    assert {name: one.session for name, one in found.items()} == {
        'new': '', 'idle': 'i' * 64, 'busy': 'b' * 64,
    }  # fmt: skip
    assert [found[name].project_id for name in ('new', 'idle', 'busy')] == ['', '', 'blue']


def test_names_are_of_a_project_from_then_on(upgraded):
    """The queue is what it was; projects whose jobs it takes go on calling it so."""
    store = DatabaseQueues(upgraded, Wall())
    found = store.queue('red:night')
    assert (found.id, found.share, found.projects) == (id_of('night'), 0.25, ('blue',))
    assert not found.projects_trust_each_other
    assert store.queue('blue:night') == found and store.accepted('blue') == {found.id: 'night'}
    assert store.queues('blue') == [found] == store.queues('red') and store.queues('green') == []
    store.create(replace(queue('other', 'green'), name='night'), 9)
    with pytest.raises(QueueNameTaken):
        store.create(replace(queue('third'), name='night'), 9)


def test_references_are_enforced_after_an_upgrade(upgraded):
    """A worker of no queue cannot be stored."""
    with pytest.raises(Exception, match=r'(?i)foreign key'), upgraded.engine.begin() as connection:
        connection.execute(text("UPDATE job_workers SET queue_id = 'none'"))


def test_an_upgrade_that_was_interrupted_is_run_again(upgraded, url):
    """MariaDB commits each step by itself: what is done is left as it is."""
    with upgraded.engine.begin() as connection:
        connection.execute(text('DROP TABLE job_queue_names'))
        connection.execute(text(f"UPDATE alembic_version SET version_num = '{BEFORE}'"))
    again = Database({'connection': url})
    assert schema.sync(again) == schema.newest()
    again.close()
    assert DatabaseQueues(upgraded, Wall()).queue('red:night').id == id_of('night')
