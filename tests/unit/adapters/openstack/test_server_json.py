# SPDX-License-Identifier: Apache-2.0
"""A server as Nova's API shows it becomes a value of the market."""

import pytest

from nova_market.adapters.openstack.server_json import server_of


def answer(**extra_specs):
    """A server of 8 vCPUs with these extra specs, `:` written as `__`."""
    specs = {name.replace('__', ':'): value for name, value in extra_specs.items()}
    flavor = {'vcpus': 8, 'ram': 2048, 'disk': 0, 'original_name': 'f', 'extra_specs': specs}
    return {
        'id': 's1',
        'tenant_id': 'p1',
        'status': 'ACTIVE',
        'OS-EXT-SRV-ATTR:host': 'h1',
        'image': '',
        'flavor': flavor,
    }


@pytest.mark.parametrize(
    ('specs', 'vcpus', 'counted'),
    [
        ({}, 8, {'VCPU': 8.0}),
        ({'hw__cpu_policy': 'dedicated'}, 0, {'PCPU': 8.0}),
        (
            {'hw__cpu_policy': 'mixed', 'hw__cpu_dedicated_mask': '0-5'},
            2,
            {'PCPU': 6.0, 'VCPU': 2.0},
        ),
    ],
)
def test_dedicated_cpus_are_not_competed_for_and_are_counted_apart(specs, vcpus, counted):
    """Placement counts dedicated CPUs as PCPU and the others as VCPU; only the others are divided."""
    server = server_of(answer(**specs), {})
    assert server is not None
    assert server.vcpus == vcpus
    assert {k: v for k, v in server.counted.items() if k.endswith('CPU')} == counted
    assert server.running is not bool(specs)


@pytest.mark.parametrize('status', ['SUSPENDED', 'SHELVED'])
def test_what_rests_on_a_host_keeps_its_room_there_and_takes_part_in_no_round(status):
    """SHELVED: until Nova has offloaded it."""
    server = server_of({**answer(), 'status': status}, {})
    assert server is not None and not server.running
    assert server.counted['MEMORY_MB'] == 2048.0


def test_what_is_shelved_and_offloaded_is_on_no_host():
    """Nova shows it without one."""
    gone = {**answer(), 'status': 'SHELVED_OFFLOADED', 'OS-EXT-SRV-ATTR:host': None}
    assert server_of(gone, {}) is None
