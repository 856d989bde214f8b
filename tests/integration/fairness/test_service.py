# SPDX-License-Identifier: Apache-2.0
"""nova-fairness as a process, on real guests: it protects, it survives, it cleans up."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from nova_market.experiments.guests import fairness_bystanders, fairness_fig3, fairness_fig4
from nova_market.experiments.guests.service_process import ServiceProcess
from nova_market.testbed.guest import Guest, GuestSpec
from nova_market.testbed.host import Host
from tests.support.hypervisor.weight_watch import WeightWatch, share_files, shares
from tests.support.hypervisor.worlds import wait_for

pytestmark = [
    pytest.mark.alone,
    pytest.mark.integration(
        'libvirtd', 'virtlogd', 'virsh', 'qemu-system-x86_64', 'busybox', 'cpio'
    ),
]

INTERVAL = 1.0
GUESTS = {'d1': 'd', 'd2': 'd', 'e1': 'e'}

eventually = partial(wait_for, seconds=40.0)


@pytest.fixture(scope='module')
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp('bed', numbered=True)


@pytest.fixture(scope='module')
def host(state: Path) -> Iterator[Host]:
    with Host('svc', '0', 2048, state) as made:
        yield made


@pytest.fixture(scope='module')
def guests(host: Host) -> dict[str, Guest]:
    """Three busy guests, two of d and one of e."""
    return {
        name: host.boot(GuestSpec(name=name, project=project, load='burn 1'))
        for name, project in GUESTS.items()
    }


@pytest.fixture
def service(host: Host, guests: dict[str, Guest], tmp_path: Path) -> Iterator[ServiceProcess]:
    made = ServiceProcess(tmp_path / 'service', options(host))
    yield made
    made.stop()
    assert shares(guests) == dict.fromkeys(GUESTS, 1024), 'a clean stop restores'


def options(host: Host, **fairness: object) -> dict[str, dict[str, object]]:
    return {
        'DEFAULT': {'debug': 'true'},
        # grouping alone: the weights that are expected do not depend on what the guests have used
        'fairness': {'interval': INTERVAL, 'resources': 'cpu', 'span': 1, **fairness},
        'host': {'name': host.name, 'libvirt_uri': host.uri, 'cpus': host.cpus},
    }


def command(service: ServiceProcess, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        service.command(*words),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.measured
def test_figure3_on_real_guests(
    state: Path, tmp_path: Path, record_property: Callable[[str, object], None]
):
    """Two busy VMs of d and one of e: off, e has a third; on, half of the CPU, and d1 alone all of it."""
    for enforce, duration in ((False, 20.0), (True, 50.0)):
        summary = fairness_fig3.run(
            fairness_fig3.Setting(
                interval=INTERVAL,
                duration=duration,
                enforce=enforce,
                state=state,
                output=tmp_path / str(enforce),
                cpu=1,
            )
        )
        record_property(f'e1 {"on" if enforce else "off"}', summary['shares']['e1'])
        assert summary['passed'], json.dumps(summary)
    assert {p.name for p in (tmp_path / 'True').iterdir()} >= {
        'fairness-fig3.csv',
        'fairness-fig3.png',
    }


@pytest.mark.measured
def test_figure3_beside_a_process_that_is_no_guest(
    state: Path, tmp_path: Path, record_property: Callable[[str, object], None]
):
    """It takes half of the CPU or more; e still has half of what guests get, as the supply is measured."""
    summary = fairness_fig3.run(
        fairness_fig3.Setting(
            interval=INTERVAL,
            duration=50.0,
            enforce=True,
            state=state,
            output=tmp_path,
            cpu=1,
            beside=1,
        )
    )
    record_property('e1', summary['shares']['e1'])
    assert summary['cpu_used_together'] < 0.7
    assert summary['last_status']['supply']['cores'] == pytest.approx(
        summary['cpu_used_together'], abs=0.15
    )
    assert summary['passed'], json.dumps(summary)


@pytest.mark.measured
def test_figure4_on_real_guests_over_a_real_broker(
    state: Path, tmp_path: Path, record_property: Callable[[str, object], None]
):
    """e also uses host b, so on host a d gets more; nobody on b is hurt."""
    summary = fairness_fig4.run(
        fairness_fig4.Setting(
            interval=INTERVAL, duration=90.0, enforce=True, state=state, output=tmp_path
        )
    )
    record_property('d on a', summary['share_of_d_on_a']['after'])
    assert summary['hosts_in_totals'] == 2
    assert summary['passed'], json.dumps(summary)


@pytest.mark.measured
def test_idle_users_change_nothing_on_real_guests(
    state: Path, tmp_path: Path, record_property: Callable[[str, object], None]
):
    """Beside five of them e still has three quarters of what it shares with d, who is heavy on b too, and no
    idle guest outweighs the busy ones. A result that is there is not run again."""
    setting = fairness_bystanders.Setting(
        interval=INTERVAL, duration=60.0, enforce=True, counts=[5], state=state, output=tmp_path
    )
    summary = fairness_bystanders.run(setting)
    record_property('e', summary['share_of_e_on_a'])
    assert summary['passed'], json.dumps(summary)
    assert fairness_bystanders.run(setting) == summary
    assert fairness_bystanders.stored(replace(setting, duration=61.0), 5) is None


def test_the_kernel_has_the_weights_that_the_model_computes(
    service: ServiceProcess, guests: dict[str, Guest]
):
    """d's two guests together have the weight of e's one, and all have 1024 on average."""
    service.start()
    eventually(lambda: shares(guests) == {'d1': 768, 'd2': 768, 'e1': 1536})


def test_killed_at_any_moment(service: ServiceProcess, guests: dict[str, Guest]):
    """kill -9 leaves weights, which the next start takes over; `restore` knows the originals."""
    service.start()
    eventually(lambda: shares(guests)['e1'] > 1400)
    for moment in (0.0, 0.35, 1.1):
        time.sleep(moment)
        with WeightWatch(share_files(guests)) as watch:
            service.kill()
            service.start()
            time.sleep(2 * INTERVAL)
        assert min(watch.seen['e1']) > 1400
        assert max(watch.seen['d1'] | watch.seen['d2']) < 1024
    service.kill()
    done = command(service, 'restore')
    assert done.stdout == '3 guests have their original values\n', done.stderr
    assert shares(guests) == dict.fromkeys(GUESTS, 1024)
    assert '3 guests keep the values of an earlier run' in service.log.read_text()


def test_libvirtd_restarts(service: ServiceProcess, host: Host, guests: dict[str, Guest]):
    """Guests run on; the service says it once, waits, and goes on by itself."""
    service.start()
    eventually(lambda: shares(guests)['e1'] > 1400)
    before = service.status()['time']
    host.run('kill', (host.directory / 'pid' / 'libvirtd').read_text().strip())
    eventually(lambda: 'rounds are skipped' in service.log.read_text())
    time.sleep(3 * INTERVAL)
    host.start()
    eventually(lambda: 'the hypervisor answers again' in service.log.read_text())
    eventually(lambda: service.status()['time'] > before + 3 * INTERVAL)
    # the repetitions of an outage are DEBUG, and have 'as before' in them
    lines = service.log.read_text().splitlines()
    assert sum('rounds are skipped until it does: ' in line for line in lines) == 1
    assert shares(guests)['e1'] > 1400


def test_guest_restarted_by_nova_has_its_weight_back(
    service: ServiceProcess, guests: dict[str, Guest]
):
    """A hard reboot makes the domain anew, with default shares: it is weighed again at once."""
    service.start()
    eventually(lambda: shares(guests)['e1'] > 1400)
    guests['e1'].destroy()
    guests['e1'].undefine()
    guests['e1'].define()
    guests['e1'].start()
    eventually(lambda: shares(guests)['e1'] > 1400)
    guests['e1'].wait_for('BOOTED')


def test_status_is_for_people_and_programs(service: ServiceProcess):
    service.configure()
    nothing = command(service, 'status')
    assert nothing.returncode == 1, nothing
    service.start()
    shown = command(service, 'status')
    assert shown.returncode == 0, shown
    assert 'GUEST' in shown.stdout
    assert 'svc: enforcing' in shown.stdout
    document = json.loads(command(service, 'status', '-f', 'json').stdout)
    assert {guest['owner'] for guest in document['guests']} == {'d', 'e'}
    assert document['running'] is True
    again = command(service, 'run')
    assert again.returncode == 1, again
    assert 'runs already on this host' in again.stderr
    service.stop()
    stopped = command(service, 'status')
    assert stopped.returncode == 3, stopped
    assert 'NOT running' in stopped.stdout


def test_dry_run_writes_nothing(host: Host, guests: dict[str, Guest], tmp_path: Path):
    dry = ServiceProcess(tmp_path / 'dry', options(host, dry_run=True))
    dry.start()
    try:
        eventually(lambda: 'round 3:' in dry.log.read_text())
        assert shares(guests) == dict.fromkeys(GUESTS, 1024)
        assert not (dry.state / 'originals.json').exists()
        wanted = {g['name']: g['controls']['cpu']['wanted'] for g in dry.status()['guests']}
        assert wanted['e1'] > 1400
    finally:
        dry.stop()


def test_garbage_in_metadata(service: ServiceProcess, host: Host):
    """A guest whose metadata is damaged is accounted to the fallback owner; the service goes on."""
    odd = host.guest(
        GuestSpec(
            name='odd',
            project='x',
            nova_metadata='<nova:instance xmlns:nova="http://openstack.org/xmlns/libvirt/nova/1.1">'
            '<nova:name>"\'; rm -rf / &lt;</nova:name><nova:flavor name="f"><nova:vcpus>many</nova:vcpus>'
            '</nova:flavor></nova:instance>',
        )
    )
    odd.define()
    odd.start()
    try:
        service.start()
        found = {g['name']: g for g in service.status()['guests']}
        assert found['odd']['owner'] == 'unknown'
        assert 'owner unknown' in found['odd']['why']
    finally:
        odd.destroy()
        odd.undefine()
