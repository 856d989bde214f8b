# SPDX-License-Identifier: Apache-2.0
"""The command nova-market-jobs, and what wiring makes of options."""

import json

import pytest

from nova_market.cmd import jobs as command
from nova_market.cmd.program import EXIT_NOT_RUNNING
from nova_market.services.job.jobs import STATE
from nova_market.services.job.status import status_document
from tests.support.job_bed import SETTINGS, id_of

pytestmark = pytest.mark.functional


@pytest.fixture
def configured(url, tmp_path):
    """configured(**options of group [jobs]): arguments of the command."""

    def write(**options):
        path = tmp_path / 'nova_market.conf'
        lines = [f'{name} = {value}' for name, value in options.items()]
        path.write_text(
            '\n'.join([f'[database]\nconnection = {url}', '[jobs]', *lines, '']), encoding='utf-8'
        )
        return ['--config-file', str(path)]

    return write


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


def test_status_ends_with_3_when_passes_are_overdue(bed, configured, capsys):
    """From the database alone; the last pass of this bed was long ago by the real clock."""
    bed.stores.states.write(STATE, {'at': 1_700_000_000.0, 'turn': 7, 'interval': 5.0})
    assert command.main([*configured(), 'status', '-f', 'json']) == EXIT_NOT_RUNNING
    assert json.loads(capsys.readouterr().out)['passes'] == 7
    assert command.main([*configured(), 'status']) == EXIT_NOT_RUNNING
    assert 'NOT LOOKED AFTER' in capsys.readouterr().out


def test_forget_needs_a_queue_that_is_being_deleted(bed, configured, capsys):
    """Then it names what may be left in the cloud."""
    bed.submit('a', 'night', sleep=5.0)
    bed.until(bed.all_ended)
    (server,) = bed.owners.made
    assert command.main([*configured(), 'forget', 'nothing']) == 1
    assert command.main([*configured(), 'forget', 'night']) == 1
    assert 'openstack market queue delete night' in capsys.readouterr().err
    bed.stores.queues.delete(id_of('night'))
    assert command.main([*configured(), 'forget', 'night']) == 0
    printed = capsys.readouterr().out
    assert f'server {server} may be left' in printed and 'trust trust-1 may be left' in printed
    assert bed.stores.queues.queue('night') is None


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
def test_options_that_cannot_work_are_named(database, configured, capsys, options, text):
    assert command.main([*configured(**options), 'once', '--wait', '0']) == 78
    assert text in capsys.readouterr().err
