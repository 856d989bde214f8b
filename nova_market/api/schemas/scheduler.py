# SPDX-License-Identifier: Apache-2.0
"""Schema of what Nova's scheduler receives; core.scheduler.snapshot says what the tables hold."""

from nova_market.api.schemas.shape import NUMBER, PERIOD, wrapped
from nova_market.core.json_schema import Schema, described, record

NUMBERS: Schema = {'type': 'array', 'items': NUMBER}
TABLES: Schema = {
    'format': described({'type': 'integer'}, 'of this document'),
    'levels': described(NUMBERS, 'levels at which `demand` of a host is given'),
    'price': described(NUMBERS, 'cpu, memory: micro-credits per unit and period'),
    'bid_price': NUMBERS,
    'hosts': described(
        {'type': 'object'},
        'columns: name; capacity, bids [resource][host]; demand [level][resource][host]; '
        'heaviness, watts where known; sold [resource][host] where not everything is',
    ),
    'projects': described(
        {'type': 'object'},
        'columns: id, available, due; used [resource][project]; share, heaviness where known',
    ),
    'reserved': described(
        {'type': 'object'},
        'what leases have reserved: version, at, format (2); hosts: names; room: what each host must keep '
        'free, of all leases together: host (row), begin, amounts [cores, MiB, GiB][step] until the next '
        'step of the host. For servers that carry a lease: leases: id, project_id, begin, end; nodes: lease, '
        'host (rows), whole, amounts [cores, MiB, GiB][node] without what servers of the lease take; '
        'carriers: [server id, row of its lease]. Format 1 has no room: its nodes are those of all leases',
    ),
    'reserved_at': described(
        NUMBER, 'instead of `reserved`: the version of the caller was true then'
    ),
}
SNAPSHOT: Schema = wrapped(
    'scheduler_snapshot',
    record(
        {
            'period': PERIOD,
            'age': described({**NUMBER, 'minimum': 0}, 'seconds since the round was decided'),
            **TABLES,
        },
        optional=tuple(TABLES),
    ),
)
