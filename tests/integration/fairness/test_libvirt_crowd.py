# SPDX-License-Identifier: Apache-2.0
"""Many real guests that a round has never seen before."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nova_market.core.fairness.round import FairnessSettings
from tests.support.hypervisor.lone_agent import lone_agent
from tests.support.hypervisor.worlds import LibvirtBed, WorldOfLibvirt

pytestmark = [
    pytest.mark.integration('libvirtd', 'virtlogd', 'qemu-system-x86_64'),
]

OWNERS = 20


@pytest.fixture
def world() -> Iterator[WorldOfLibvirt]:
    bed = LibvirtBed()
    made = WorldOfLibvirt(bed)
    yield made
    made.close()
    bed.remove()


@pytest.mark.parametrize('crowd', [40, pytest.param(200, marks=pytest.mark.nightly)])
def test_a_crowd_at_once(world: WorldOfLibvirt, tmp_path: Path, crowd: int):
    """One round weighs and writes them all; a stop restores everybody."""
    settings = FairnessSettings(resources=('cpu',))
    agent = lone_agent(world, settings, tmp_path)
    first = world.start(0, owner='first')
    agent.start()
    agent.round()
    for number in range(1, crowd + 1):
        world.start(number, owner=f'o{number % OWNERS}')
    record = agent.round()
    assert len(record.plan.guests) == crowd + 1
    assert record.failed.get('cpu', {}) == {}
    control = world.actuators['cpu']
    now = control.read(record.plan.guests)
    assert len(now) == crowd + 1
    for guest, wanted in zip(record.plan.guests, record.plan.wanted['cpu'], strict=True):
        assert now[guest.id].value == pytest.approx(wanted, rel=settings.threshold), guest.name
    assert now[first].value != 1024
    agent.stop()
    assert {c.value for c in control.read(record.plan.guests).values()} == {1024}
