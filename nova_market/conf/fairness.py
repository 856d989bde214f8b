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
Seconds between two rounds (the update interval of the paper). Every host of a cloud should have the
same. Shorter reacts faster and costs proportionally more CPU: one bulk statistics call per round.
Guest memory statistics are themselves refreshed every 10 s by Nova's default.
""",
    ),
    cfg.StrOpt(
        'policy',
        default='fairness',
        choices=[
            ('fairness', 'heaviness alone'),
            ('market', 'what the engines of [exchange]market_engines allocate'),
            ('combined', 'the same, times a factor by heaviness of at most `span`'),
        ],
        help="""
Who decides what the guests of this host get. With `market` and `combined` a guest's CPU weight is that of
the cores allocated to it; when no allocations come any more, weights go back to those of the flavors, half
way in each round. Needs `cpu_control`, and an exchange that reaches the engine (`oslo` or `zmq`).
""",
    ),
    cfg.BoolOpt(
        'dry_run',
        default=False,
        help="""
Measure, exchange and decide, but write nothing to guests or to the network device. Use it first on a
new cloud: `nova-fairness status` then shows what would be set.
""",
    ),
    cfg.StrOpt(
        'owner',
        default='project',
        choices=[
            ('project', 'account by Keystone project, as quotas do'),
            ('user', 'account by Keystone user, as the paper did; quotas are then not read'),
        ],
        help='Whom a VM is accounted to.',
    ),
    cfg.StrOpt(
        'fallback_owner',
        default='unknown',
        help="""
Owner of guests without readable Nova metadata (started outside Nova, or damaged). They share one
account, so that hiding the owner gains nothing.
""",
    ),
    cfg.StrOpt(
        'state_path',
        default='/var/lib/nova-market/fairness',
        help="""
Directory for the values that guests had before the service touched them (needed to restore them after
a crash), the status document and the cached CPU score. Must survive a restart of the service.
""",
    ),
]

METRIC = [
    cfg.StrOpt(
        'metric',
        default='greediness',
        help="""
Heaviness metric, a plug-in of nova_market.heaviness: greediness (sound defaults), greediness_2016 (what
the paper ran), drf, bbf, asset, or your own. A metric that breaks a constraint of the paper's section
III without saying so is refused at start. Every host of a cloud must have the same.
""",
    ),
    cfg.StrOpt(
        'endowment',
        default='host_share',
        help="""
What the cloud budgets for a VM, a plug-in of nova_market.endowment: host_share (its part of the host,
capped at the flavor), host_share_uncapped (eq. 1 as printed), cloud_quota, cloud_running.
""",
    ),
    cfg.ListOpt(
        'resources',
        default=list(RESOURCES),
        item_type=types.String(choices=RESOURCES),
        help="""
Resources in the metric. A resource whose supply is not known (disk and network need [host] options) is
left out by itself. An idle resource in the metric counts as endowment that its owner holds: with more
resources a user of fewer VMs is favoured more.
""",
    ),
    cfg.StrOpt(
        'resource_weighting',
        default='equal',
        choices=[
            ('equal', 'every resource counts the same'),
            ('scarcity', 'by utilisation of the cloud'),
        ],
        help='How resources are weighed against each other.',
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
        choices=[('equal', 'owners are equal'), ('quota', 'owners weigh by their cores quota')],
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
How heaviness becomes weights. `paper` is for comparison: its CPU range starves managed guests next to
anything unmanaged on the host, and its memory limits cut into working sets.
""",
    ),
    cfg.FloatOpt(
        'gain',
        default=2.0,
        min=0.0,
        max=20.0,
        help='k: how strongly heaviness moves the weight. gain * controller_smoothing above 0.3 '
        'oscillates when totals arrive one or two intervals late.',
    ),
    cfg.FloatOpt(
        'controller_smoothing',
        default=0.15,
        min=0.001,
        max=1.0,
        help='lambda: part of the way to the wanted weight that one round goes.',
    ),
    cfg.FloatOpt(
        'span',
        default=16.0,
        min=1.0,
        max=100.0,
        help='Largest ratio between two weights of a host that heaviness may cause; 1 = grouping only.',
    ),
    cfg.FloatOpt(
        'emphasis',
        default=0.5,
        min=0.0,
        max=10.0,
        help="a: how much a VM's own heaviness moves its weight among its owner's VMs.",
    ),
    cfg.BoolOpt(
        'grouping',
        default=True,
        help="Divide a host among owners, then among an owner's VMs. Off: every VM by its size.",
    ),
    cfg.FloatOpt(
        'idle_threshold',
        default=0.05,
        min=0.0,
        max=1.0,
        help="A VM that uses less of its CPU endowment than this part does not dilute its owner's group.",
    ),
    cfg.FloatOpt(
        'write_threshold',
        default=0.05,
        min=0.0,
        max=1.0,
        help='Relative change below which a value is not written again.',
    ),
]

CONTROLS = [
    cfg.BoolOpt(
        'cpu_control', default=True, help='Set CPU shares (cgroup v1) or weights (v2) of guests.'
    ),
    cfg.StrOpt(
        'disk_control',
        default='auto',
        choices=[('auto', 'where BFQ or io.cost makes weights act'), ('off', 'never')],
        help='Set disk weights of guests. Where they would not act they are reported as not controllable.',
    ),
    cfg.StrOpt(
        'memory_control',
        default='off',
        choices=[('auto', 'soft limit on cgroup v1, memory.low on v2'), ('off', 'observe only')],
        help="""
Protect guests' memory under pressure; with a market, as much of it as is allocated. On cgroup v1 the soft
limit is deprecated since Linux 6.12. Never set below a guest's working set there.
""",
    ),
    cfg.StrOpt(
        'network_device',
        default='',
        help="""
Uplink whose egress is divided among guests by HTB classes, for example eth1 or bond0; empty = no
network control. A queueing discipline that somebody else put there is left alone, and network control
then reports so. Costs one class and one filter per guest; not for uplinks of 25 Gbit/s and more, whose
queues one HTB lock would serialise.
""",
    ),
    cfg.IntOpt(
        'network_rate_mbps',
        default=0,
        min=0,
        max=400000,
        help='Rate of network_device in Mbit/s; 0 = ask the device. Needed for virtual devices.',
    ),
    cfg.FloatOpt(
        'network_default_share',
        default=0.1,
        min=0.001,
        max=0.9,
        help='Part of the rate that is kept for traffic of no guest: the host, storage, migration.',
    ),
]

EXCHANGE = [
    cfg.StrOpt(
        'exchange',
        default='local',
        help="""
How hosts tell each other heaviness, a plug-in of nova_market.exchange: `local` (this host alone),
`oslo` (oslo.messaging; set transport_url as for nova) or `zmq` (ZeroMQ, no broker; make keys by
`nova-market-manage keys` first). Group [exchange] has the rest. Every host of a cloud must have the same.
""",
    ),
    cfg.IntOpt(
        'totals_ttl_intervals',
        default=3,
        min=1,
        max=100,
        help='Intervals after which a silent host is forgotten, and after which weights decay to the local '
        'grouping when the transport is dead.',
    ),
    cfg.StrOpt(
        'quota_source',
        default='none',
        choices=[
            ('none', 'this host reads no quotas; it uses what other hosts announce, or equal ones'),
            (
                'openstack',
                'read quotas with the credentials of group [openstack] and announce them',
            ),
        ],
        help="""
Where actual quotas come from. One or two hosts (controllers) with `openstack` are enough for a cloud;
compute hosts then need no credentials.
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
