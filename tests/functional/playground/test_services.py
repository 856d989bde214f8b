# SPDX-License-Identifier: Apache-2.0
"""In a playground every service acts, on the real API, and what was there goes on after a stop."""

from collections import Counter
from pathlib import Path

import pytest

from nova_market.core.usage.history import UsageFilter
from nova_market.db.usage_history import DatabaseUsageHistory
from nova_market.playground.people import ALICE, OPERATOR, PROJECTS
from nova_market.playground.playground import Playground
from tests.support.playground import asked, logins, pass_time, playing

pytestmark = pytest.mark.functional


def test_the_engine_has_sold_what_hosts_have(played: Playground) -> None:
    """A price above the reserve, allocations for every project with servers, and nobody's row set aside."""
    prices = {one['resource']: one['price'] for one in asked(played, 'bob', '/v1/prices')['prices']}
    assert prices['cpu'] >= 50_000
    period = asked(played, 'operator', '/v1/rounds?limit=1')['rounds'][0]['period']
    found = asked(played, 'operator', f'/v1/rounds/{period}/allocations?all_projects=true')[
        'allocations'
    ]
    assert len({one['project_id'] for one in found}) >= len(PROJECTS)
    assert asked(played, 'operator', '/v1/set-aside')['set_aside'] == []


def test_the_controller_bids_for_an_application_with_a_deadline(played: Playground) -> None:
    """It runs, reports progress, and its bids have been changed."""
    (app,) = asked(played, 'alice', '/v1/apps')['apps']
    assert app['state'] == 'running' and app['policy'] == 'full_deadline'
    events = asked(played, 'alice', f'/v1/apps/{app["id"]}/events')['events']
    assert 'bid' in {one['action'] for one in events}
    shown = asked(played, 'alice', f'/v1/apps/{app["id"]}')['app']
    assert shown['reports'][0]['done'] > 0


def test_jobs_run_and_wait_with_a_reason(played: Playground) -> None:
    """Of both queues; who waits is told why."""
    jobs = asked(played, 'operator', '/v1/jobs?all_projects=true')['jobs']
    states = Counter(one['state'] for one in jobs)
    assert states['finished'] and states['running'], states
    assert {one['queue_id'] for one in jobs} == {
        one['id'] for one in asked(played, 'operator', '/v1/queues?all_projects=true')['queues']
    }
    done = next(one for one in jobs if one['state'] == 'finished')
    owner = 'alice' if done['project_id'] == ALICE.project_id else 'bob'
    output = asked(played, owner, f'/v1/jobs/{done["id"]}/output')
    assert 'begins on' in str(output)


def test_a_lease_is_booked(played: Playground) -> None:
    """By one of the projects, at the API."""
    found = asked(played, 'operator', '/v1/leases?all_projects=true')['leases']
    assert found and found[0]['cost'] > 0


def test_notices_arrive_in_the_mailbox(played: Playground) -> None:
    """The code that confirms Alice's address, which she has used, and what has become of her jobs."""
    path = played.mailbox.folder / 'alice@example.org.mbox'
    assert path.stat().st_mode & 0o077 == 0
    assert 'started' in path.read_text(encoding='utf-8')
    assert asked(played, 'alice', f'/v1/notices/{ALICE.id}')['notice']['confirmed']


def test_what_servers_use_is_in_the_history(played: Playground) -> None:
    """Minutes of every host that has servers."""
    stored = DatabaseUsageHistory(played.services.database)
    now = played.clock.wall()
    series = stored.series(UsageFilter(), now - 1200, now)
    hosts = {one.host for one in played.world.seen.values()}
    assert {one.series.host for one in series} >= hosts


def test_a_login_is_written_for_three_people(played: Playground) -> None:
    """With a password of its own each, in a file that nobody else can read."""
    path = played.folder.path
    found = logins(path)
    assert sorted(found) == ['alice', 'bob', 'operator']
    assert len({one['auth']['password'] for one in found.values()}) == 3
    for name in ('clouds.yaml', 'passwords.json', 'nova_market.conf', 'world.json'):
        assert (path / name).stat().st_mode & 0o077 == 0, name


def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    """Time, servers, jobs, trusts, applications; and the next round follows."""
    with playing(tmp_path / 'here') as first:
        pass_time(first, 300)
        wall, servers = first.clock.wall(), sorted(first.world.seen)
        jobs = {one['id'] for one in asked(first, 'alice', '/v1/jobs')['jobs']}
        period = asked(first, 'operator', '/v1/rounds?limit=1')['rounds'][0]['period']
        passwords = first.folder.passwords()
    with playing(tmp_path / 'here') as second:
        assert second.clock.wall() == pytest.approx(wall, abs=1)
        assert sorted(second.world.seen) == servers
        assert second.folder.passwords() == passwords
        assert {one['id'] for one in asked(second, 'alice', '/v1/jobs')['jobs']} >= jobs
        pass_time(second, 300)
        after = asked(second, 'operator', '/v1/rounds?limit=1')['rounds'][0]['period']
        assert after == period + 5
        (app,) = asked(second, 'alice', '/v1/apps')['apps']
        assert app['state'] == 'running'
        # as a crash after the last save: the same again
        assert asked(second, OPERATOR.name, '/v1/set-aside')['set_aside'] == []
