# SPDX-License-Identifier: Apache-2.0
"""A service that starts before its database waits for it; a command does not."""

import logging
import shutil
import signal
import subprocess
import sys

import pytest
from oslo_config import cfg

from nova_market.cmd.program import EXIT_INTERRUPTED
from nova_market.conf import database as database_options
from nova_market.errors import DatabaseUnavailable, SchemaBehind
from nova_market.testbed.broker import free_ports
from nova_market.wiring.database import awaited, ready

pytestmark = pytest.mark.functional


class Enough(Exception):
    """The test has seen as much as it wants."""


def configured(url):
    conf = cfg.ConfigOpts()
    database_options.register_opts(conf)
    conf([], project='nova_market', default_config_files=[])
    conf.set_override('connection', url, 'database')
    return conf


@pytest.fixture
def refused():
    """Of a server that is down."""
    (port,) = free_ports(1)
    return configured(f'mysql+pymysql://market:geheim@127.0.0.1:{port}/market')


def warnings(caplog):
    return [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]


def test_it_looks_less_and_less_often_and_reports_it_once(refused, caplog):
    """For as long as it takes; the line has the reason, and no password."""
    pauses = []

    def sleep(seconds):
        pauses.append(seconds)
        if len(pauses) == 7:
            raise Enough

    with pytest.raises(Enough):
        awaited(refused, sleep)
    assert pauses == [1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0]
    (line,) = warnings(caplog)
    assert 'the service waits to start: the database does not answer' in line
    assert 'geheim' not in line


def test_a_command_fails_at_once(refused):
    with pytest.raises(DatabaseUnavailable):
        ready(refused)


def test_it_goes_on_when_the_database_is_there(tmp_path, empty_tables, caplog):
    """Here a file, whose directory is mounted later than the service starts."""
    caplog.set_level(logging.INFO)
    directory = tmp_path / 'later'

    def sleep(_seconds):
        directory.mkdir()
        shutil.copy(empty_tables, directory / 'market.sqlite')

    database = awaited(configured(f'sqlite:///{directory}/market.sqlite'), sleep)
    database.close()
    assert len(warnings(caplog)) == 1
    assert 'the database answers, the service starts' in caplog.text


def test_tables_of_another_version_are_not_waited_for(tmp_path):
    """They do not come by themselves."""
    with pytest.raises(SchemaBehind, match='nova-market-manage db sync'):
        awaited(configured(f'sqlite:///{tmp_path}/market.sqlite'))


@pytest.mark.clock
@pytest.mark.timeout(60)
def test_somebody_who_waits_too_may_end_it(tmp_path):
    """Ctrl-C ends the service as it ends other programs: without a traceback."""
    (port,) = free_ports(1)
    file = tmp_path / 'nova_market.conf'
    file.write_text(f'[database]\nconnection = mysql+pymysql://m:p@127.0.0.1:{port}/market\n')
    program = [sys.executable, '-m', 'nova_market.cmd.notices', f'--config-file={file}']
    # a shell that has started the tests in the background has them ignore Ctrl-C, and so would the service
    program = ['env', '--default-signal=INT', *program]
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        printed = []
        try:
            for line in process.stdout:
                printed.append(line)
                if 'the service waits to start' in line:
                    process.send_signal(signal.SIGINT)
            process.wait(30.0)
        finally:
            process.kill()
    assert process.returncode == EXIT_INTERRUPTED
    assert 'Traceback' not in ''.join(printed)
