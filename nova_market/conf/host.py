# SPDX-License-Identifier: Apache-2.0
"""Options of group [host]: the hypervisor of this host and what it offers."""

from oslo_config import cfg

GROUP = cfg.OptGroup('host', title='This compute host and its supply')

OPTIONS = [
    cfg.StrOpt(
        'name',
        sample_default='<hostname>',
        help='Name of this host in the exchange; unique in the cloud. Default: the host name.',
    ),
    cfg.StrOpt('libvirt_uri', default='qemu:///system', help='libvirt connection.'),
    cfg.StrOpt(
        'cpus',
        default='',
        help="""
Physical CPUs that guests may use, as a list such as 2-15,18-31; empty = all. Set it to what Nova has in
[compute]cpu_shared_set.
""",
    ),
    cfg.FloatOpt(
        'smt_core',
        default=0.3,
        min=0.0,
        max=1.0,
        help='Value of the second thread of a core in cores, when both are online.',
    ),
    cfg.DictOpt(
        'core_scores',
        default={},
        help="""
Speed of one core by CPU model, so that a second on a fast host counts more than a second on a slow host:
'part of the model name:score', for example 'EPYC 7763:1.9,Gold 6130:1.2', in any unit that is the same on
all hosts (SPECrate per core, HEPScore per core). A host whose model is not listed uses the cached result
of `nova-fairness calibrate`, or else its nominal clock in GHz, which is a poor measure for different
models.
""",
    ),
    cfg.IntOpt(
        'reserved_memory_mib',
        default=512,
        min=0,
        help="RAM that is not for guests; Nova's reserved_host_memory_mb.",
    ),
    cfg.BoolOpt(
        'measure_supply',
        default=True,
        help="""
Count as supply only what other processes of this host leave to guests: CPU time that neither guests nor the
idle loop used, and that a hypervisor below stole, and memory that is neither available nor held by guests,
are taken off. With False, the supply is all of the CPUs in `cpus` and all RAM but `reserved_memory_mib`;
users with many guests then lose to users with few where other processes are busy.
""",
    ),
    cfg.FloatOpt(
        'disk_read_mbps',
        default=0.0,
        min=0.0,
        help='Sequential read rate of the disks of guests, MiB/s; 0 = leave disk reads out of the metric. '
        'It is not measured, because reading at full speed would disturb the guests.',
    ),
    cfg.FloatOpt('disk_write_mbps', default=0.0, min=0.0, help='The same for writes.'),
    cfg.FloatOpt(
        'disk_read_iops',
        default=0.0,
        min=0.0,
        help='Random reads per second that the disks can serve; 0 = count bytes only.',
    ),
    cfg.FloatOpt('disk_write_iops', default=0.0, min=0.0, help='The same for writes.'),
    cfg.FloatOpt(
        'net_rx_mbps',
        default=0.0,
        min=0.0,
        help='Receive rate of the uplink, Mbit/s; 0 = leave receiving out of the metric.',
    ),
    cfg.FloatOpt('net_tx_mbps', default=0.0, min=0.0, help='The same for transmitting.'),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTIONS)]
