# SPDX-License-Identifier: Apache-2.0
"""What is read from a domain's XML, and that garbage in it leads to the fallback, never to an error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.adapters.hypervisor.domain_xml import MAX_XML, GuestReading, read_guest
from nova_market.core.resource import GuestId, OwnerId
from tests.support.hypervisor.nova_xml import domain, metadata

PROJECT = 'b' * 32


def reading(xml: str, owner_kind: str = 'project') -> GuestReading:
    return read_guest(
        xml,
        guest_id=GuestId('11111111-2222-3333-4444-555555555555'),
        domain_id=3,
        name='instance-00000001',
        fallback_owner=OwnerId('nobody'),
        owner_kind=owner_kind,
    )


def test_everything_that_nova_says_is_read():
    guest = reading(
        domain(
            about=metadata(extra_specs={'quota:cpu_shares': '2048', 'market:tier': 'best-effort'}),
            devices='<interface type="ethernet"><mac address="FA:16:3E:00:00:01"/>'
            '<target dev="tapaaaaaaaa-aa"/></interface>'
            '<disk type="file" device="disk"><source file="/var/lib/nova/disk"/></disk>'
            '<disk type="block" device="disk"><source dev="/dev/vg/volume"/></disk>'
            '<disk type="network" device="disk"><source protocol="rbd" name="p/v"/></disk>'
            '<disk type="file" device="cdrom"><source file="/config"/><readonly/></disk>',
        )
    )
    assert guest.complaints == ()
    assert guest.guest.owner == PROJECT
    assert not guest.guest.fallback
    assert guest.guest.flavor == 'm1.small'
    assert guest.guest.base_shares == 2048
    assert (guest.guest.vcpus, guest.guest.memory_bytes) == (2, 128 << 20)
    assert guest.guest.interfaces == (('tapaaaaaaaa-aa', 'fa:16:3e:00:00:01'),)
    assert guest.guest.disks == ('/var/lib/nova/disk', '/dev/vg/volume', '')


def test_metadata_of_older_novas_is_read():
    old = metadata(namespace='http://openstack.org/xmlns/libvirt/nova/1.0')
    assert reading(domain(about=old)).guest.owner == PROJECT


def test_the_user_can_be_the_owner():
    assert reading(domain(), owner_kind='user').guest.owner == 'c' * 32


@pytest.mark.parametrize(
    'about',
    [
        '',
        metadata(project=None),
        metadata(project=''),
        metadata(project='"\'; DROP TABLE owners; --'),
        metadata(project='b' * 256),
        metadata(project='a\nb'),
        metadata(project='ümlaut'),
        metadata(project='-rf'),
        '<instance>no namespace</instance>',
    ],
)
def test_an_unusable_owner_is_the_fallback_and_is_reported(about: str):
    found = reading(domain(about=about))
    assert found.guest.owner == 'nobody'
    assert found.guest.fallback
    assert len(found.complaints) == 1
    assert len(found.complaints[0]) < 200


@pytest.mark.parametrize(
    'xml',
    [
        '',
        'no XML',
        '<domain>',
        '<domain>' * 5000,
        'x' * (MAX_XML + 1),
        domain(head='<!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'),
        '\x00',
    ],
)
def test_xml_that_cannot_be_read_gives_a_guest_of_the_fallback_owner(xml: str):
    found = reading(xml)
    assert found.guest.owner == 'nobody'
    assert found.guest.vcpus == 1
    assert found.complaints


@given(st.text(max_size=300))
def test_no_text_in_place_of_xml_raises(text: str):
    assert reading(text).guest.fallback


@given(st.text(alphabet=st.characters(blacklist_categories=['Cs', 'Cc']), max_size=300))
def test_names_of_tenants_cannot_break_the_reading(name: str):
    found = reading(domain(about=metadata(flavor=name, extra_specs={'market:note': name})))
    assert found.guest.owner == PROJECT
    assert len(found.guest.flavor) <= 255


@pytest.mark.parametrize('value', ['', '0', '-5', '1_0', ' 5 ', '1e3', '١٢', 'x' * 300, '262145'])
def test_bad_cpu_shares_are_ignored(value: str):
    assert (
        reading(domain(about=metadata(extra_specs={'quota:cpu_shares': value}))).guest.base_shares
        is None
    )


@pytest.mark.parametrize(
    ('specs', 'more', 'dedicated'),
    [
        ({}, '', False),
        ({'hw:cpu_policy': 'dedicated'}, '', True),
        ({'hw:cpu_policy': 'shared'}, '', False),
        ({'hw:cpu_realtime': 'yes'}, '', True),
        ({}, '<cputune><vcpusched vcpus="0" scheduler="fifo" priority="1"/></cputune>', True),
        # Nova pins guests of policy shared to cpu_shared_set: that is no exclusive pinning
        ({}, '<cputune><vcpupin vcpu="0" cpuset="0-7"/></cputune>', False),
    ],
)
def test_pinned_by_policy_and_realtime_guests_are_known(specs: dict, more: str, dedicated: bool):
    found = reading(domain(about=metadata(extra_specs=specs), more=more))
    assert found.guest.dedicated is dedicated


def test_guests_on_huge_pages_are_known():
    assert reading(domain(more='<memoryBacking><hugepages/></memoryBacking>')).guest.hugepages
    assert not reading(domain()).guest.hugepages


def test_guests_in_files_are_known():
    """As Nova's [libvirt]file_backed_memory makes them; shared memory of vhost-user is none."""
    for kind, expected in (('file', True), ('memfd', False)):
        more = f'<memoryBacking><source type="{kind}"/><access mode="shared"/></memoryBacking>'
        assert reading(domain(more=more)).guest.file_backed is expected


def test_vcpus_that_are_online_count():
    assert reading(domain(vcpus='<vcpu current="3">8</vcpu>')).guest.vcpus == 3


@pytest.mark.parametrize(
    ('memory', 'expected'),
    [
        ('<memory>1024</memory>', 1 << 20),
        ('<memory unit="GiB">2</memory>', 2 << 30),
        ('<memory unit="parsec">2</memory>', 0),
        ('<memory>lots</memory>', 0),
        ('', 0),
    ],
)
def test_memory_has_a_unit(memory: str, expected: int):
    assert reading(domain(memory=memory)).guest.memory_bytes == expected


def test_two_hundred_guests_that_appear_at_once_are_read():
    owners = [f'{number:032x}' for number in range(200)]
    found = [reading(domain(about=metadata(project=owner))).guest.owner for owner in owners]
    assert found == owners
