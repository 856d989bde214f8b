# SPDX-License-Identifier: Apache-2.0
"""libvirt's own in-process test driver under our adapters: real API, no daemon, no guests."""

from collections.abc import Callable, Iterator
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import libvirt
import pytest

from nova_market.adapters.hypervisor.libvirt_host import LibvirtHost
from nova_market.adapters.hypervisor.supply import SupplySettings
from nova_market.core.host.sample import Guest
from tests.support.hypervisor.nova_xml import metadata

Define = Callable[..., libvirt.virDomain]


def uuid_of(number: int) -> str:
    return f'00000000-0000-4000-8000-{number:012x}'


@pytest.fixture
def node_file(tmp_path: Path) -> Path:
    """A host of libvirt's test driver: each connection to it is a world of its own."""
    path = tmp_path / 'node.xml'
    path.write_text('<node><cpu><mhz>2000</mhz></cpu><memory>4194304</memory></node>')
    return path


@pytest.fixture
def make_host(node_file: Path) -> Iterator[Callable[[Path], LibvirtHost]]:
    """A LibvirtHost whose kernel is the file tree at `root`; make the tree first."""
    made: list[LibvirtHost] = []

    def make(root: Path) -> LibvirtHost:
        made.append(LibvirtHost(f'test://{node_file}', SupplySettings(), 'nobody', root=str(root)))
        return made[-1]

    yield make
    for host in made:
        host.close()


def start_domain(host: LibvirtHost, number: int, *, disk: str = '', **about) -> libvirt.virDomain:
    """Start domain `number` of the test driver; `about` goes into Nova's metadata."""
    source = f'<disk type="file"><source file={quoteattr(disk)}/><target dev="vda"/></disk>'
    backing = '<memoryBacking><hugepages/></memoryBacking>' if about.pop('hugepages', 0) else ''
    return host.link.connection().createXML(
        f'<domain type="test"><name>{escape(f"guest-{number}")}</name><uuid>{uuid_of(number)}</uuid>'
        f'<metadata>{metadata(**about)}</metadata><memory>131072</memory><vcpu>1</vcpu>{backing}'
        f'<os><type>hvm</type></os><devices>{source if disk else ""}</devices></domain>'
    )


def guests_of(host: LibvirtHost) -> tuple[Guest, ...]:
    return tuple(item.guest for item in host.sample().guests)
