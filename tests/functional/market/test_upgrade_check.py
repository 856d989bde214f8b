# SPDX-License-Identifier: Apache-2.0
"""nova-market-status upgrade check: its exit codes, and that each says what to do."""

import json
import socket

import pytest

from nova_market.cmd import status
from nova_market.db import schema
from nova_market.db.database import Database
from nova_market.db.leases import DatabaseLeases
from nova_market.db.queues import DatabaseQueues
from tests.support.job_records import queue
from tests.support.lease_records import lease, quota
from tests.support.market.api_server import PASSWORD, PEOPLE
from tests.support.servers.databases import Wall

pytestmark = pytest.mark.functional

ACCOUNT = """
[openstack]
auth_type = password
auth_url = {url}/v3
username = {name}
password = {password}
project_name = {project}
user_domain_name = Default
project_domain_name = Default
timeout = 5
"""


@pytest.fixture
def check(tmp_path, capsys):
    """Run the checks on a configuration; (exit code, {check: (result, details)})."""
    connection = f'sqlite:///{tmp_path}/market.sqlite'

    def call(more='', connection=connection):
        path = tmp_path / 'nova_market.conf'
        path.write_text(f'[database]\nconnection = {connection}\nmax_retries = 0\n{more}')
        code = status.main(['--config-file', str(path), 'upgrade', 'check', '--json'])
        results = json.loads(capsys.readouterr().out)
        return code, {one['check']: (one['result'], one['details']) for one in results['checks']}

    call.connection = connection
    return call


@pytest.fixture
def synced(check):
    database = Database({'connection': check.connection})
    schema.sync(database)
    database.close()


def unused_port():
    with socket.socket() as made:
        made.bind(('127.0.0.1', 0))
        return made.getsockname()[1]


def test_without_an_account_it_is_a_warning(check, synced):
    """The database is as it should be; an account may not be needed on this machine."""
    code, results = check()
    assert code == 1
    assert results['Configuration'] == results['Database revision'] == (0, None)
    assert 'auth_type is not set' in results['Account of the engine'][1]


def test_a_database_that_is_behind_is_a_failure(check):
    """The command that mends it is named."""
    code, results = check()
    assert code == 2
    assert 'nova-market-manage db sync' in results['Database revision'][1]


@pytest.mark.parametrize(
    'connection', ['sqlite:////nowhere/market.sqlite', 'mysql+cymysql://a@b/c']
)
def test_a_database_that_cannot_be_reached_is_a_failure(check, connection):
    """It says which option to look at, and the password is not shown."""
    code, results = check(connection=connection)
    assert code == 2
    assert '[database]connection' in results['Database revision'][1]


def test_options_that_contradict_each_other_are_a_failure(check, synced):
    """Named with their values."""
    code, results = check('[rebalancing]\ncool_down = 100\nlongest_cool_down = 10\n')
    assert code == 2
    assert 'longest_cool_down = 10' in results['Configuration'][1]


WAIT, SHORT, OFF = (
    'production jobs of red:a will wait: the policy of the queue is not in [jobs]policies = flexible,',
    'short jobs of red:b will be shorter: the queue has a larger short_below than [jobs]max_short_below',
    '1 leases are booked, and no new ones will be: set [leases]price_core_hour, max_core_hours or max_part',
)


@pytest.mark.parametrize(
    ('options', 'whys'),
    [
        ('', [WAIT, SHORT, OFF]),
        ('[jobs]\npolicies = value, easy\n', ['production jobs of red:b will', SHORT, OFF]),
        ('[jobs]\nmax_short_below = 7200\n[leases]\nmax_part = 0.5\n', [WAIT]),
        ('[leases]\nmax_core_hours = 9\n', [WAIT, SHORT]),
        ('[leases]\nprice_disk_gib_hour = 0.1\n', [WAIT, SHORT]),
    ],
)
def test_what_limits_will_not_allow_is_a_warning(check, synced, options, whys):
    """With its name, and the option that decides it, set or not."""
    database = Database({'connection': check.connection})
    queues = DatabaseQueues(database, Wall())
    for one in (
        queue('a', policy='value'),
        queue('b', short_below=7200),
        queue('c', policy='easy'),
    ):
        queues.create(one, 9)
    DatabaseLeases(database, Wall()).book(lease('l'), 0, (), (), quota())
    database.close()
    code, results = check(options)
    result, found = results['Limits of queues and leases']
    assert (code, result) == (1, 1)
    for one, why in zip(found.split('; '), whys, strict=True):
        assert one.startswith(why)


def test_limits_that_nothing_exceeds_are_no_warning(check, synced):
    """Also where leases are off: nobody uses them."""
    assert check()[1]['Limits of queues and leases'] == (0, None)


@pytest.mark.parametrize(
    ('options', 'why'),
    [
        ('[market]\npricing = nonsense\n', 'pricing = nonsense'),
        ('[market]\nperiod = soon\n', '[market]period is soon in'),
        ('[leases]\nmax_part = 1.5\n', 'give a number from 0 to 1'),
        ('[market]\ntotal_credits = -1\n', 'total_credits'),
        ('[rebalancing]\nmode = always\n', 'mode'),
    ],
)
def test_an_option_that_a_service_would_refuse_is_a_failure(check, synced, options, why):
    """As the service would report it at start."""
    code, results = check(options)
    assert code == 2 and results['Configuration'][0] == 2
    assert why in results['Configuration'][1]


def test_a_name_that_no_option_has_is_a_warning(check, synced):
    """With the option that was probably meant; also one of the database."""
    code, results = check('conn3ction = x\n[market]\nperriod = 20\n')
    result, found = results['Configuration']
    assert (code, result) == (1, 1)
    assert '[market]perriod in' in found and 'did you mean period?' in found
    assert '[database]conn3ction in' in found and 'did you mean connection?' in found


def test_a_keystone_that_does_not_answer_is_a_warning(check, synced):
    """The reason is told, the password is not."""
    code, results = check(
        ACCOUNT.format(
            url=f'http://127.0.0.1:{unused_port()}',
            name='market',
            password='secret',
            project='service',
        )
    )
    assert code == 1
    result, why = results['Account of the engine']
    assert result == 1 and 'ConnectFailure' in why and 'secret' not in why


@pytest.mark.parametrize('name', ['root', 'alice'])
def test_an_account_that_may_not_ask_for_roles_is_a_warning(check, synced, market_service, name):
    """N8, T7: with a token, and what to do."""
    url, project = f'{market_service.url}/identity', PEOPLE[name].project
    code, results = check(ACCOUNT.format(url=url, name=name, password=PASSWORD, project=project))
    result, why = results['Account of the engine']
    if name == 'root':
        assert (code, result) == (0, 0)
    else:
        assert (code, result) == (1, 1)
        assert 'users, domains, projects and role assignments' in why and 'Forbidden' in why


def test_half_an_account_is_a_failure(check, synced):
    """A plug-in that does not exist is named."""
    code, results = check('[openstack]\nauth_type = nonsense\n')
    assert code == 2 and 'nonsense' in results['Account of the engine'][1]


def test_a_rule_of_credits_for_services_is_a_warning(check, synced, tmp_path):
    """M5: what a file of policies keeps from an older version."""
    policies = tmp_path / 'older.yaml'
    policies.write_text('"market:leases:blazar": "role:service"\n')
    assert check()[1]['Rules of credits'] == (0, None)
    code, results = check(f'[oslo_policy]\npolicy_file = {policies}\n')
    assert code == 1 and results['Rules of credits'][0] == 1
    assert 'market:leases:blazar' in results['Rules of credits'][1]


@pytest.mark.parametrize(
    'words', [['upgrade'], ['nonsense'], ['upgrade', 'nonsense'], ['--config-file', '/nowhere']]
)
def test_wrong_usage_is_no_result_of_a_check(words, capsys):
    """255, not the 2 of a failed check, and a line about it."""
    assert status.main(words) == status.EXIT_USAGE
    assert capsys.readouterr().err


# of oslo.upgradecheck with the newest prettytable
@pytest.mark.filterwarnings("ignore:the 'ALL' constant is deprecated:DeprecationWarning")
def test_people_get_a_table(check, synced, tmp_path, capsys):
    """Without --json."""
    path = tmp_path / 'people.conf'
    path.write_text(f'[database]\nconnection = {check.connection}\n')
    assert status.main(['--config-file', str(path), 'upgrade', 'check']) == 1
    assert 'Check: Database revision' in capsys.readouterr().out
