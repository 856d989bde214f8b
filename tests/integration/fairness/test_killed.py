# SPDX-License-Identifier: Apache-2.0
"""kill -9 in the middle of a round that writes many guests: the originals are known whenever it comes, and
the next start takes the weights over as they are."""

import json
import random
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from nova_market.adapters.control.cpu import FILES
from nova_market.experiments.guests.service_process import ServiceProcess
from tests.support.hypervisor.weight_watch import WeightWatch
from tests.support.hypervisor.worlds import LibvirtBed, WorldOfLibvirt, uuid_of

pytestmark = [
    pytest.mark.alone,
    pytest.mark.integration('libvirtd', 'virtlogd', 'qemu-system-x86_64'),
]

CROWD = 30
"""Guests; writing them takes some ten milliseconds, in which a kill can hit."""

COMPETE = {'idle_threshold': 0, 'idle_cores': 0}
"""Whoever uses anything competes, so the crowd is divided by users though none of it is at work. With the
defaults, idle guests keep the default weight."""

KILLS = 6
PATIENCE = 20.0
DEFAULT = 1024
SMALL = 500
"""Bytes; a file of originals of the whole crowd is larger, an empty one is smaller."""


@pytest.fixture(scope='module')
def world() -> Iterator[WorldOfLibvirt]:
    """The crowd runs through all tests: each ends with the weights that it began with."""
    bed = LibvirtBed()
    try:
        made = WorldOfLibvirt(bed)
        for number in range(CROWD):
            made.start(number, owner='few' if number % 10 == 0 else 'many')
        yield made
        made.close()
    finally:
        bed.remove()


class Crowd:
    """What the kernel says of many guests, and what the service has noted of them."""

    def __init__(self, world: WorldOfLibvirt, service: ServiceProcess) -> None:
        guests = [item.guest for item in world.host.sample().guests]
        world.host.cgroups.search(guests)
        groups = {guest.id: world.host.cgroups.locate(guest, 'cpu') for guest in guests}
        self.files = {name: g.scope / FILES[g.version] for name, g in groups.items() if g}
        assert set(self.files) == {uuid_of(number) for number in range(CROWD)}
        self._journal = service.state / 'originals.json'
        self.before = self.weights()

    def weights(self) -> Mapping[str, int]:
        return {name: int(path.read_text()) for name, path in self.files.items()}

    def changed(self) -> int:
        """Guests that have not what they had."""
        return sum(self.before[name] != weight for name, weight in self.weights().items())

    def noted(self) -> Mapping[str, int]:
        """Guest -> original CPU weight, as a start of the service would read it now."""
        guests = json.loads(self._journal.read_text())['guests'] if self._journal.exists() else []
        return {guest['id']: guest['originals']['cpu'] for guest in guests}

    def saved_since(self, wall_ns: int, least: int = 0) -> bool:
        """Has the file of originals been written since then, with at least so many bytes?"""
        try:
            found = self._journal.stat()
        except FileNotFoundError:
            return False
        return found.st_mtime_ns > wall_ns and found.st_size >= least


def wait(until: Callable[[], bool], service: subprocess.Popen[bytes]) -> None:
    """Without a pause: the moment that is waited for lasts a millisecond."""
    deadline = time.monotonic() + PATIENCE
    while not until():
        assert service.poll() is None, 'the service ended by itself: see its log'
        assert time.monotonic() < deadline, f'not within {PATIENCE} s'


def moment(crowd: Crowd, trial: int, chance: random.Random) -> Callable[[], bool]:
    """When to kill: right after the originals are stored, between two writes, or while they are put back."""
    launched = time.time_ns()
    if trial % 3 == 0:
        return lambda: crowd.saved_since(launched, SMALL)
    some = chance.randrange(1, CROWD // 2)
    if trial % 3 == 2:
        # or later, where a busy machine has let the moment pass
        return lambda: crowd.changed() <= some or crowd.saved_since(launched)
    # not asked is whether the crowd was noted before it was written: that is what the test is about
    return lambda: crowd.changed() >= some


def killed(service: ServiceProcess, crowd: Crowd, trial: int, chance: random.Random) -> None:
    """Kill the service in its first round, or `restore` after it."""
    if trial % 3 != 2:
        restore(service)
        until = moment(crowd, trial, chance)
        wait(until, service.launch())
        service.kill()
        return
    wait(lambda: crowd.changed() == CROWD, service.launch())
    service.kill()
    until = moment(crowd, trial, chance)
    restoring = subprocess.Popen(service.command('restore'))
    wait(until, restoring)
    restoring.kill()
    restoring.wait()


def restore(service: ServiceProcess) -> None:
    service.configure()
    subprocess.run(service.command('restore'), check=True, timeout=60)


@pytest.fixture
def service(world: WorldOfLibvirt, tmp_path: Path) -> ServiceProcess:
    return ServiceProcess(
        tmp_path / 'service',
        {
            'fairness': {
                'interval': 1,
                'resources': 'cpu',
                'span': 1,
                'write_threshold': 0,
                **COMPETE,
            },
            'host': {'name': 'killed', 'libvirt_uri': world.bed.uri, 'cpus': '0'},
        },
    )


def test_killed_in_the_middle(world: WorldOfLibvirt, service: ServiceProcess):
    """Whenever it dies, a guest that was touched is noted with what it had; a stop puts it back."""
    crowd, chance = Crowd(world, service), random.Random(2016)
    untouched = halfway = 0
    try:
        for trial in range(KILLS):
            killed(service, crowd, trial, chance)
            weights, noted = crowd.weights(), crowd.noted()
            touched = {name for name, weight in weights.items() if weight != crowd.before[name]}
            assert touched <= set(noted), f'trial {trial}: touched and not noted'
            assert all(crowd.before[name] == value for name, value in noted.items())
            untouched += bool(noted) and not touched
            halfway += 0 < len(touched) < CROWD
        assert untouched >= 1, 'no kill fell between storing the originals and the first write'
        assert halfway >= KILLS // 3, 'too few kills fell between two writes'
        wait(lambda: crowd.changed() == CROWD, service.launch())
        assert 'guests keep the values of an earlier run' in service.log.read_text()
    finally:
        service.stop()
    assert crowd.weights() == crowd.before
    assert crowd.noted() == {}
    print(f'{KILLS} kills: {untouched} before the first write, {halfway} between writes')  # noqa: T201


def test_weights_stay_from_the_kill_until_long_after_the_next_start(
    world: WorldOfLibvirt, service: ServiceProcess
):
    """Nobody has an equal share for a moment: neither at the start nor while guests are not measured."""
    crowd = Crowd(world, service)
    try:
        wait(lambda: crowd.changed() == CROWD, service.launch())
        for pause in (0.0, 0.4, 1.3):
            time.sleep(pause)
            with WeightWatch(crowd.files) as watch:
                service.kill()
                service.start()
                time.sleep(3.0)
            assert watch.looks > 100
            shown = {name for name, values in watch.seen.items() if DEFAULT in values}
            assert not shown, f'{len(shown)} of {CROWD} guests had {DEFAULT} for a moment'
    finally:
        service.stop()
    assert crowd.weights() == crowd.before
