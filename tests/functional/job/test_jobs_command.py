# SPDX-License-Identifier: Apache-2.0
"""The command nova-market-jobs, and what wiring makes of options."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nova_market.cmd.program import EXIT_CONFIGURATION, EXIT_NOT_RUNNING
from nova_market.core.set_aside import SetAside
from nova_market.db.set_aside import DatabaseSetAside
from nova_market.services.job.jobs import STATE
from nova_market.services.job.status import status_document
from tests.support.job_bed import SETTINGS, id_of

pytestmark = [pytest.mark.functional, pytest.mark.clock]

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def command(url, tmp_path):
    """command(*arguments, **options of group [jobs]): a process; oslo.config parses once in each."""

    def run(*arguments, **options):
        path = tmp_path / 'nova_market.conf'
        lines = [f'{name} = {value}' for name, value in options.items()]
        path.write_text(
            '\n'.join([f'[database]\nconnection = {url}', '[jobs]', *lines, '']), encoding='utf-8'
        )
        return subprocess.run(
            [sys.executable, '-m', 'nova_market.cmd.jobs', '--config-file', str(path), *arguments],
            capture_output=True, text=True, cwd=ROOT, timeout=200, check=False,
            env=os.environ | {'PYTHONPATH': str(ROOT)},
        )  # fmt: skip

    return run


def test_status_counts_jobs_and_workers(bed):
    """What waits, is active, and has a worker; alive while passes are made."""
    assert not status_document(bed.stores, bed.clock.wall)['alive']
    bed.submit('a', 'night', sleep=600.0)
    bed.run(4)
    found = status_document(bed.stores, bed.clock.wall)
    assert found['alive'] and found['passes'] == 4
    (shown,) = found['queues']
    assert (shown['name'], shown['active'], shown['waiting'], shown['workers']) == (
        'night',
        1,
        0,
        1,
    )
    bed.clock.advance(3 * SETTINGS.interval + 60.0)
    assert not status_document(bed.stores, bed.clock.wall)['alive']


def test_status_ends_with_3_when_passes_are_overdue(bed, command):
    """From the database alone; the last pass of this bed was long ago by the real clock."""
    bed.stores.states.write(STATE, {'at': 1_700_000_000.0, 'turn': 7, 'interval': 5.0})
    found = command('status', '-f', 'json')
    assert (found.returncode, json.loads(found.stdout)['passes']) == (EXIT_NOT_RUNNING, 7)
    found = command('status')
    assert found.returncode == EXIT_NOT_RUNNING and 'NOT LOOKED AFTER' in found.stdout


def test_status_names_what_is_set_aside(bed, command):
    """Of this service, for people and programs."""
    kept = DatabaseSetAside(bed.database, bed.clock.wall)
    row = SetAside(kind='queue', id=id_of('night'), stage='read', reason='share is 7')
    kept.keep('jobs', [row])
    kept.keep('leases', [SetAside(kind='host', id='a', stage='read', reason='cores is nan')])
    (shown,) = json.loads(command('status', '-f', 'json').stdout)['set_aside']
    assert (shown['kind'], shown['id'], shown['reason']) == ('queue', row.id, 'share is 7')
    text = command('status').stdout
    assert 'read: share is 7' in text and 'cores' not in text


def test_forget_needs_a_queue_that_is_being_deleted(bed, command):
    """Then it names what may be left in the cloud."""
    bed.submit('a', 'night', sleep=5.0)
    bed.until(bed.all_ended)
    (server,) = bed.owners.made
    assert command('forget', 'nothing').returncode == 1
    refused = command('forget', 'night')
    assert refused.returncode == 1 and 'openstack market queue delete night' in refused.stderr
    bed.stores.queues.delete(id_of('night'))
    done = command('forget', 'night')
    assert done.returncode == 0, done.stderr
    assert (
        f'server {server} may be left' in done.stdout and 'trust trust-1 may be left' in done.stdout
    )
    assert bed.stores.queues.queue(id_of('night')) is None


@pytest.mark.parametrize(
    ('options', 'text'),
    [
        ({}, 'worker_url'),
        ({'worker_url': 'market:9654'}, 'worker_url'),
        (
            {'worker_url': 'http://m', 'first_pause': 100, 'longest_pause': 10},
            'first_pause = 100 is above longest_pause = 10',
        ),
        (
            {'worker_url': 'http://m', 'worker_certificates': '/nowhere.pem'},
            'worker_certificates = /nowhere.pem',
        ),
    ],
)
def test_options_that_cannot_work_are_named(database, command, options, text):
    found = command('once', '--wait', '0', **options)
    assert (found.returncode, text in found.stderr) == (EXIT_CONFIGURATION, True), found.stderr
