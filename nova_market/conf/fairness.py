# SPDX-License-Identifier: Apache-2.0
"""Options of group [fairness]: the control loop of nova-fairness."""

from oslo_config import cfg, types

from nova_market.core.resource import RESOURCES

GROUP = cfg.OptGroup('fairness', title='Fairness between users, per compute host')

LOOP = [
    cfg.FloatOpt(
        'interval',
        default=10.0,
        min=0.5,
        max=3600.0,
        help="""
Seconds between two rounds (the update interval of the paper). All hosts of a cloud should have the same
value. A shorter interval reacts faster and costs proportionally more CPU: one bulk statistics call per
round. By Nova's default, memory statistics of guests are updated every 10 s.
""",
    ),
    cfg.StrOpt(
        'policy',
        default='fairness',
        choices=[
            ('fairness', 'weights follow heaviness alone'),
            ('market', 'weights follow the allocations of the engines in [exchange]market_engines'),
            ('combined', 'as market, multiplied by a factor of heaviness of at most `span`'),
        ],
        help="""
By what this host is divided among its guests. With `market` and `combined` the CPU weight of a guest is
that of the cores allocated to it. When allocations have expired, each round moves the weights half of the
way back to those of the flavors. `market` and `combined` need `cpu_control`, and an exchange that reaches
the engine (`oslo` or `zmq`).
""",
    ),
    cfg.BoolOpt(
        'dry_run',
        default=False,
        help="""
Measure, exchange and decide, but write nothing to guests or to the network device. Begin with it on a new
cloud: `nova-fairness status` then shows what would be set.
""",
    ),
    cfg.StrOpt(
        'owner',
        default='project',
        choices=[
            ('project', 'account by Keystone project, as quotas do'),
            ('user', 'account by Keystone user, as in the paper; quotas are then not read'),
        ],
        help='The owner that a VM is accounted to.',
    ),
    cfg.StrOpt(
        'fallback_owner',
        default='unknown',
        help="""
Owner of guests without readable Nova metadata (started outside Nova, or damaged). They share one account,
so that hiding the owner gains nothing.
""",
    ),
    cfg.StrOpt(
        'state_path',
        default='/var/lib/nova-market/fairness',
        help="""
Directory for the values that guests had before the service changed them (needed to restore them after a
crash), the status document and the cached CPU score. Must survive a restart of the service.
""",
    ),
]

METRIC = [
    cfg.StrOpt(
        'metric',
        default='greediness',
        help="""
Heaviness metric, a plug-in of nova_market.heaviness: greediness (sound defaults), greediness_2016 (that
of the paper's experiments), drf, bbf, asset, or your own. A metric that breaks a constraint of the
paper's section III without declaring it is refused at start. All hosts of a cloud must have the same
value.
""",
    ),
    cfg.StrOpt(
        'endowment',
        default='host_share',
        help="""
How the endowment of a VM is computed, a plug-in of nova_market.endowment: host_share (its part of the
host, at most its flavor), host_share_uncapped (eq. 1 as printed), cloud_quota, cloud_running.
""",
    ),
    cfg.ListOpt(
        'resources',
        default=list(RESOURCES),
        item_type=types.String(choices=RESOURCES),
        help="""
Resources in the metric. A resource whose supply is not known (disk and network need [host] options) is
left out automatically. An idle resource in the metric counts as endowment that its owner holds, so with
more resources a user of fewer VMs is favoured more.
""",
    ),
    cfg.StrOpt(
        'resource_weighting',
        default='equal',
        choices=[
            ('equal', 'all resources have the same weight'),
            ('scarcity', 'by the utilisation of the cloud'),
        ],
        help='Relative weight of the resources in the metric.',
    ),
    cfg.StrOpt(
        'undeclared_split',
        default='vcpu',
        choices=[('vcpu', 'by vCPU count'), ('equal', '1 / number of VMs, as the paper')],
        help='How a host supply that flavors do not name (disk, network) is divided into virtual resources.',
    ),
    cfg.FloatOpt(
        'smoothing',
        default=0.5,
        min=0.01,
        max=1.0,
        help='Weight of the newest interval in the moving average of loads; 1 = no smoothing.',
    ),
    cfg.StrOpt(
        'entitlement',
        default='equal',
        choices=[('equal', 'all owners are equal'), ('quota', 'by the cores quota of the owner')],
        help="Relative right of owners in the grouping of a host's guests.",
    ),
    cfg.FloatOpt(
        'cpu_allocation_ratio',
        default=4.0,
        min=0.01,
        max=1000.0,
        help="Nova's CPU overcommit; only used where every cores quota is unlimited.",
    ),
    cfg.FloatOpt(
        'ram_allocation_ratio',
        default=1.0,
        min=0.01,
        max=1000.0,
        help="Nova's RAM overcommit; only used where every RAM quota is unlimited.",
    ),
]

PRIORITY = [
    cfg.StrOpt(
        'priority_mode',
        default='centred',
        choices=[
            ('centred', 'feedback controller with owner grouping (recommended)'),
            (
                'paper',
                'the 2016 mapping: CPU 1..100, disk 100..1000, network 1..98, memory from 10 MiB',
            ),
        ],
        help="""
How weights are computed from heaviness. `paper` is for comparison only: in its CPU range managed guests
get almost nothing beside other processes of the host, and its memory limits are below working sets.
""",
    ),
    cfg.FloatOpt(
        'gain',
        default=2.0,
        min=0.0,
        max=20.0,
        help='k: how strongly heaviness changes the weight. With gain * controller_smoothing above 0.3, '
        'weights oscillate when totals arrive one or two intervals late.',
    ),
    cfg.FloatOpt(
        'controller_smoothing',
        default=0.15,
        min=0.001,
        max=1.0,
        help='lambda: the part of the difference to the wanted weight that one round makes up.',
    ),
    cfg.FloatOpt(
        'span',
        default=16.0,
        min=1.0,
        max=100.0,
        help='Largest ratio of two weights of a host that heaviness may cause; 1 = grouping only.',
    ),
    cfg.FloatOpt(
        'emphasis',
        default=0.5,
        min=0.0,
        max=10.0,
        help="a: how strongly a VM's own heaviness changes its weight among its owner's VMs.",
    ),
    cfg.BoolOpt(
        'grouping',
        default=True,
        help="Divide a host among owners first, and then among each owner's VMs. Off: every VM by its size.",
    ),
    cfg.FloatOpt(
        'idle_threshold',
        default=0.05,
        min=0.0,
        max=1.0,
        help="""
Part of its endowment below which a VM is idle: idle VMs do not count when a host is divided, neither among
owners nor among an owner's VMs. From twice as much on a VM counts fully. For CPU `idle_cores` is the least
value; a VM also counts that waits for a CPU most of the time, however little it gets.
""",
    ),
    cfg.FloatOpt(
        'idle_cores',
        default=0.05,
        min=0.0,
        max=1.0,
        help="""
Cores below which a VM is idle, however small its endowment is. Raise it when guests that do nothing use more,
and `nova-fairness status` does not show them as idle: under emulation they use 0.02 to 0.03 of a core.
""",
    ),
    cfg.FloatOpt(
        'write_threshold',
        default=0.05,
        min=0.0,
        max=1.0,
        help='Relative change of a value below which it is not written again.',
    ),
    cfg.FloatOpt(
        'least_cores',
        default=0.01,
        min=0.0,
        max=0.1,
        help="""
CPU weights are raised so that each guest has at least so many cores when all guests are busy; 0 = as little
as the kernel allows. QEMU's own threads are in the CPU group of their guest: with less, its monitor answers
after seconds, and whatever asks it (statistics of other programs, migration, stop) waits so long. All least
weights of a host together take a quarter of its cores at most. Not with priority_mode `paper`.
""",
    ),
]

CONTROLS = [
    cfg.BoolOpt(
        'cpu_control', default=True, help='Set CPU shares (cgroup v1) or weights (v2) of guests.'
    ),
    cfg.StrOpt(
        'disk_control',
        default='auto',
        choices=[('auto', 'where weights have an effect: BFQ or io.cost'), ('off', 'never')],
        help='Set disk weights of guests. Where they would have no effect, the disk is reported as not '
        'controllable.',
    ),
    cfg.StrOpt(
        'memory_control',
        default='off',
        choices=[('auto', 'soft limit on cgroup v1, memory.low on v2'), ('off', 'observe only')],
        help="""
Protect guests' memory under pressure; with a market, at most what is allocated. On cgroup v1 the soft
limit is used, which is deprecated since Linux 6.12; it is never set below a guest's working set.
""",
    ),
    cfg.StrOpt(
        'network_device',
        default='',
        help="""
Uplink whose outgoing traffic is divided among guests by HTB classes, for example eth1 or bond0; empty =
no network control. A queueing discipline that another program has installed is left alone, and `status`
reports it. The cost is one class and one filter per guest. Not for uplinks of 25 Gbit/s and more: HTB has
one lock for all queues of a device.
""",
    ),
    cfg.IntOpt(
        'network_rate_mbps',
        default=0,
        min=0,
        max=400000,
        help='Rate of network_device in Mbit/s; 0 = read it from the device. Required for virtual devices.',
    ),
    cfg.FloatOpt(
        'network_default_share',
        default=0.1,
        min=0.001,
        max=0.9,
        help='Part of the rate that is reserved for other traffic than that of guests: host, storage, '
        'migration.',
    ),
]

EXCHANGE = [
    cfg.StrOpt(
        'exchange',
        default='local',
        help="""
How hosts exchange heaviness, a plug-in of nova_market.exchange: `local` (this host alone), `oslo`
(oslo.messaging; set transport_url as for nova) or `zmq` (ZeroMQ, without a broker; create keys with
`nova-market-manage keys` first). Group [exchange] has the other options. All hosts of a cloud must have
the same value.
""",
    ),
    cfg.IntOpt(
        'totals_ttl_intervals',
        default=3,
        min=1,
        max=100,
        help='Intervals for which the last report of a host is valid. When the transport is down for longer, '
        'weights decay to those of the local grouping.',
    ),
    cfg.StrOpt(
        'quota_source',
        default='none',
        choices=[
            (
                'none',
                'this host reads no quotas; it uses those that other hosts send, or equal ones',
            ),
            (
                'openstack',
                'read quotas with the credentials of group [openstack], and send them to the others',
            ),
        ],
        help="""
Source of quotas. One host (a controller) with `openstack` is enough for a cloud; with three, one of them
that is wrong is outvoted. Compute hosts then need no credentials.
""",
    ),
    cfg.FloatOpt(
        'quota_refresh',
        default=300.0,
        min=10.0,
        max=86400.0,
        help='Seconds after which quotas are read again; one API request per project.',
    ),
]

METRICS = [
    cfg.HostAddressOpt(
        'metrics_address',
        default='127.0.0.1',
        help='Address of the Prometheus endpoint. It names projects: do not open it to tenants.',
    ),
    cfg.PortOpt(
        'metrics_port',
        default=0,
        help='TCP port of the Prometheus endpoint, for example 9652; 0 = none.',
    ),
]

OPTIONS = LOOP + METRIC + PRIORITY + CONTROLS + EXCHANGE + METRICS


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTIONS)]
