# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the host contract: each test runs in memory and, marked integration, on real guests."""

from collections.abc import Iterator

import pytest

from tests.support.hypervisor.worlds import LibvirtBed, World, WorldInMemory, WorldOfLibvirt

REAL = [pytest.mark.integration('libvirtd', 'virtlogd', 'qemu-system-x86_64', 'nsenter')]


@pytest.fixture(scope='session')
def libvirt_bed() -> Iterator[LibvirtBed]:
    bed = LibvirtBed()
    yield bed
    bed.remove()


@pytest.fixture(params=['memory', pytest.param('libvirt', marks=REAL)])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    if request.param == 'memory':
        yield WorldInMemory()
        return
    real = WorldOfLibvirt(request.getfixturevalue('libvirt_bed'), file_backed=True)
    yield real
    real.close()
