# SPDX-License-Identifier: Apache-2.0
"""Options of group [leases]: what can be leased, how it is placed and paid, and the service of leases."""

from oslo_config import cfg

from nova_market.core.lease.life import LifeSettings
from nova_market.core.lease.replan import FREEZE

GROUP = cfg.OptGroup('leases', title='Leases')

LIFE = LifeSettings()

SERVICE = [
    cfg.StrOpt(
        'name',
        default='',
        help="""
Name of this service. Services of leases elect a leader through `[market]coordination_url`. Empty = `leases.`
and the host's name.
""",
    ),
    cfg.FloatOpt(
        'interval',
        default=10.0,
        min=1.0,
        max=600.0,
        help="""
Seconds between two passes. In each pass the service reads the hosts and servers of the cloud, and starts,
charges and ends leases. A lease starts and ends at most so much late.
""",
    ),
    cfg.FloatOpt(
        'lost_after',
        default=60.0,
        min=0.0,
        max=86_400.0,
        help="""
Seconds after which a host that is disabled or does not answer is lost: its leases get other hosts. A short
time moves leases when nova-compute restarts.
""",
    ),
    cfg.FloatOpt(
        'start_patience',
        default=LIFE.start_patience,
        min=0.0,
        max=86_400.0,
        help="""
Seconds that a lease waits at its start for a host that is lost, while no other one has room. Then it has
failed, and all that was held for it comes back.
""",
    ),
    cfg.FloatOpt(
        'end_notice',
        default=LIFE.end_notice,
        min=0.0,
        max=86_400.0,
        help='Seconds before the end of a lease at which its owner gets a notification.',
    ),
    cfg.StrOpt(
        'metrics_address',
        default='127.0.0.1',
        help='Address of the Prometheus endpoint of the service.',
    ),
    cfg.PortOpt(
        'metrics_port',
        default=0,
        help='TCP port of the Prometheus endpoint of the service, for example 9657; 0 = none.',
    ),
]

KEPT = [
    cfg.FloatOpt(
        'publish_ahead',
        default=7 * 86_400.0,
        min=60.0,
        max=365 * 86_400.0,
        help="""
Seconds before its start from which on Nova's scheduler receives a lease, and keeps its room. At least
`[nova_market]lease_window` of nova.conf. A longer time protects leases from servers of flavors with a longer
`market:duration`, and makes what the scheduler reads larger: about 100 bytes for each node of a lease.
""",
    ),
]

PLACEMENT = [
    cfg.ListOpt(
        'hosts',
        default=['*'],
        help="""
Hosts that can be leased: patterns of their names, as of a shell, for example `rack1-*`. The API and the
service must have the same value.
""",
    ),
    cfg.ListOpt(
        'stays_on',
        default=[],
        help='Hosts that are never powered down, as patterns: a lease there costs no idle energy.',
    ),
    cfg.ListOpt(
        'host_watts',
        default=['*:160:120'],
        help="""
Watts of hosts as `PATTERN:IDLE:MORE`: what a host draws when it is idle, and what a full load adds. The first
pattern that matches its name counts. The objective `power` minimises what they add up to.
""",
    ),
    cfg.MultiStrOpt(
        'timetable',
        default=['* 00:00 greedy_consistent power'],
        help="""
Which algorithm and which objective are in force when: `DAYS HH:MM ALGORITHM OBJECTIVE`, until the next entry
begins. Days are `*` or of mon, tue, wed, thu, fri, sat, sun, with commas. Repeat the option for several
entries. Algorithms are plug-ins of `nova_market.placement`, objectives of `nova_market.objective`.
""",
    ),
    cfg.StrOpt(
        'zone',
        default='UTC',
        help='Time zone of the timetable, for example `Europe/Berlin`.',
    ),
    cfg.FloatOpt(
        'seconds',
        default=10.0,
        min=0.1,
        max=600.0,
        help='Seconds that the algorithms `search` and `exact` may take for a replan.',
    ),
    cfg.FloatOpt(
        'request_seconds',
        default=2.0,
        min=0.1,
        max=600.0,
        help="""
Seconds that a request for a lease or for offers of leases may take in the API: `search` and `exact` look for
a better place until then, and a request that others overtake decides again until then. A thread of the API
is busy for as long, and the project pays for that time by [api]request_rate.
""",
    ),
    cfg.FloatOpt(
        'freeze',
        default=FREEZE,
        min=0.0,
        max=30 * 86_400.0,
        help='Seconds before its start in which a lease is not moved by a replan.',
    ),
]

LIMITS = [
    cfg.FloatOpt(
        'longest',
        default=30 * 86_400.0,
        min=60.0,
        max=10 * 365 * 86_400.0,
        help='Longest lease in seconds.',
    ),
    cfg.FloatOpt(
        'horizon',
        default=365 * 86_400.0,
        min=60.0,
        max=10 * 365 * 86_400.0,
        help='Seconds from now to the latest end of a lease.',
    ),
    cfg.IntOpt(
        'max_leases',
        default=100,
        min=1,
        max=100_000,
        help='Largest number of leases of one project that are not over.',
    ),
    cfg.FloatOpt(
        'max_core_hours',
        default=0.0,
        min=0.0,
        max=1e12,
        help="""
Core-hours that the leases of one project may have ahead of them together, from now to their ends. A lease
that takes a larger part of the cloud's memory or disk than of its cores counts as that part of the cores. 0 =
no limit. While there is no limit (this one, or `max_part` below 1), leases that cost nothing are refused: one
call could reserve the whole cloud. Lower it where projects reserve more than they use.
""",
    ),
    cfg.FloatOpt(
        'max_part',
        default=1.0,
        min=0.0,
        max=1.0,
        help="""
Part of the hosts that can be leased, 0 to 1, that leases of one project may take at any one time; counted as
max_core_hours. 1 = all of them. Lower it where one project must not take what all need.
""",
    ),
    cfg.FloatOpt(
        'max_cloud_core_hours',
        default=0.0,
        min=0.0,
        max=1e12,
        help="""
Core-hours that the leases of all projects together may have ahead of them; counted as max_core_hours. 0 = no
limit. Lower it where so much is reserved ahead that servers without a lease find no room for long. With a
limit, each booking reads all leases: some milliseconds for a thousand.
""",
    ),
    cfg.FloatOpt(
        'max_cloud_part',
        default=1.0,
        min=0.0,
        max=1.0,
        help="""
Part of the hosts that can be leased, 0 to 1, that leases of all projects together may take at any one time.
Below 1 the rest stays for servers and jobs without a lease, and each booking reads all leases: some
milliseconds for a thousand.
""",
    ),
]

MONEY = [
    cfg.StrOpt(
        'price_core_hour',
        default='0',
        help="""
Credits for an hour of a core, as Placement counts it, in a lease; all the cores of the host where a node is a
whole one. What a lease costs is held when it is booked. Set a price for memory too, and for disk where it is
scarce: a lease that takes a greater part of what has no price than of what has one is refused, unless
max_core_hours or max_part limits it.
""",
    ),
    cfg.StrOpt(
        'price_memory_gib_hour',
        default='0',
        help='Credits for an hour of a GiB of memory in a lease; see price_core_hour.',
    ),
    cfg.StrOpt(
        'price_disk_gib_hour',
        default='0',
        help='Credits for an hour of a GiB of disk in a lease; see price_core_hour.',
    ),
    cfg.FloatOpt(
        'charge_period',
        default=LIFE.charge_period,
        min=60.0,
        max=30 * 86_400.0,
        help='Seconds from one charge of a lease that has begun to the next.',
    ),
    cfg.FloatOpt(
        'refund',
        default=LIFE.refund,
        min=0.0,
        max=1.0,
        help="""
Part of what is not used of a lease that comes back when its owner deletes it. Of a lease that fails all of it
comes back.
""",
    ),
    cfg.FloatOpt(
        'full_refund_within',
        default=LIFE.full_refund_within,
        min=0.0,
        max=86_400.0,
        help="""
Seconds after its booking in which a lease that has not begun can be deleted for all that was held: time to
correct a mistake. Later `refund` counts, however far away the start is, since who books ahead keeps that room
from others. 0 = never.
""",
    ),
    cfg.FloatOpt(
        'full_refund',
        deprecated_for_removal=True,
        deprecated_since='0.1.0',
        deprecated_reason='See full_refund_within: how far away the start is does not matter any more.',
        help='Without effect.',
    ),
]

OPTIONS = [*SERVICE, *KEPT, *PLACEMENT, *LIMITS, *MONEY]


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTIONS)]
