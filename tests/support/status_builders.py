# SPDX-License-Identifier: Apache-2.0
"""What nova-fairness writes for `status` after a round, with figures as long as they get."""

import uuid

from nova_market.services.fairness.status import FORMAT

OWNER = uuid.UUID(int=0x8C1B2F0D_4E5A_6978_8C1B_2F0D4E5A6978).hex
HUGE = {'cpu': 128.25, 'memory': 4096.0 * 1024**3}
WHY = (
    'allocated 96 of 128 cores and 4194304 MiB in period 29840640; heavier than the mean (+0.333 against '
    '+0.111); shares with 12 more of its owner, 11 of 12 busy; flavor asks for 262144 shares'
)
CONTROLS = {
    'cpu': {'wanted': 262144, 'set': 262143, 'reason': ''},
    'memory': {'wanted': 4096 * 1024**3, 'set': None, 'reason': ''},
    'disk': {
        'wanted': 1000,
        'set': None,
        'reason': 'no device of the guest is under BFQ or io.cost',
    },
    'network': {'wanted': 7, 'set': 7, 'reason': ''},
}


def guest(name, why=WHY, controls=CONTROLS, owner=OWNER):
    return {
        'name': name,
        'owner': owner,
        'load': HUGE,
        'endowment': HUGE,
        'heaviness': -123.456,
        'owner_heaviness': -123.456,
        'allocation': {'cores': 128.0, 'memory_mib': 4194304.0},
        'controls': controls,
        'why': why,
    }


def document(*guests, market=True, host='compute1', at=100.0):
    found = {
        'engine': 'engine.' + 'c' * 60,
        'period': 1,
        'strength': 1,
        'allocations': 3,
        'in_force': 2,
    }
    return {
        'host': host,
        'format': FORMAT,
        'time': at,
        'interval': 10.0,
        'dry_run': True,
        'policy': 'combined',
        'market': found if market else None,
        'cloud': {
            'hosts': 10_000,
            'owners': 20_000,
            'age': 123_456.0,
            'fresh': False,
            'resources': ['cpu', 'memory', 'disk_read', 'disk_write', 'net_rx', 'net_tx'],
        },
        'supply': {
            'cores': 127.5,
            'offered_cores': 128.0,
            'core_score': 1.0,
            'score_method': 'calibrated',
            'memory_bytes': 1,
            'offered_memory_bytes': 2**42,
        },
        'seconds': {'sample': 0.5},
        'guests': list(guests),
    }  # fmt: skip
