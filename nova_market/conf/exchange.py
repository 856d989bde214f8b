# SPDX-License-Identifier: Apache-2.0
"""Options of group [exchange]: who tells whom what, and where the others are."""

from oslo_config import cfg

GROUP = cfg.OptGroup('exchange', title='How hosts tell each other heaviness')

TOPOLOGY = [
    cfg.StrOpt(
        'topology',
        default='aggregate',
        choices=[
            (
                'aggregate',
                'hosts tell aggregators, and are told the sums of the owners they have VMs of',
            ),
            ('broadcast', 'every host tells all others, as the paper did'),
        ],
        help="""
Who tells whom. `broadcast` needs nothing else, and N * (N - 1) messages an interval: for clouds of up to
some 50 hosts, and for comparison. `aggregate` needs 2 * N * aggregator_count small ones, and must know some
hosts: set `coordination_url`, `members` or `aggregators`. Every host of a cloud must have the same.
""",
    ),
    cfg.ListOpt(
        'aggregators',
        default=[],
        help="""
Names of the hosts that add up, for example controllers that run nova-fairness; empty = they are elected
among all hosts. Named hosts that are not members are left out. Owners are divided among the aggregators by
hash. With topology `aggregate`. Every host of a cloud must have the same.
""",
    ),
    cfg.IntOpt(
        'aggregator_count',
        default=1,
        min=1,
        max=100,
        help="""
How many hosts are elected when `aggregators` is empty. One adds up for more than 1,000 hosts; more of them
divide owners, and what the loss of one delays, for 2 * hosts messages an interval each. Every host of a
cloud must have the same.
""",
    ),
]

MEMBERS = [
    cfg.StrOpt(
        'coordination_url',
        default='',
        secret=True,
        help="""
Where hosts find each other: URL of a tooz driver, for example redis://:PASSWORD@controller:6379,
etcd3+http://controller:2379, zookeeper://, memcached://, or file:///DIRECTORY for one machine. Hosts come
and go by themselves. When it is away the hosts that were known last stay in force. Empty = `members` or
`aggregators`.
""",
    ),
    cfg.ListOpt(
        'members',
        default=[],
        help="""
All hosts, when there is no `coordination_url`: HOST=tcp://ADDRESS:PORT separated by commas; HOST alone
where the transport needs no address (oslo). With named `aggregators` and topology `aggregate` these are
enough. A host that is added must be added here on all hosts.
""",
    ),
]

WIRE = [
    cfg.StrOpt(
        'wire_format',
        default='auto',
        choices=[
            ('auto', 'compact over zmq, plain elsewhere'),
            ('plain', 'JSON, which tcpdump and rabbitmqctl show'),
            ('compact', 'msgpack, shorter by a quarter to two thirds; over oslo wrapped in base64'),
        ],
        help='How a host writes its messages. Each reads both, so hosts may differ.',
    ),
    cfg.StrOpt(
        'zmq_bind',
        default='tcp://*:9653',
        help="""
Where this host listens with [fairness]exchange = zmq. An address of the management network is better than
`*`. Others connect here: open the port between compute hosts, and to nobody else.
""",
    ),
    cfg.StrOpt(
        'zmq_address',
        default='',
        help="""
Where others reach this host, tcp://ADDRESS:PORT, with `coordination_url`. Empty = zmq_bind when that names
an address, else [host]name and the port of zmq_bind.
""",
    ),
    cfg.StrOpt(
        'zmq_key_path',
        default='/etc/nova_market/keys',
        help="""
Directory of this host's CURVE key pair and of the public keys of the hosts it believes; see
`nova-market-manage keys`. Keys that are added or removed count without a restart.
""",
    ),
]

MARKET = [
    cfg.ListOpt(
        'market_engines',
        default=[],
        help="""
Names of the market's engines ([market]name of each): nobody else may allocate what the guests of this host
get. An engine that is not named here does not start. Empty = there is no market. Over zmq an engine proves
its name by its key, as a host does; over oslo the broker's accounts decide who can write. Hosts and engines
of a cloud must have the same.
""",
    ),
    cfg.StrOpt(
        'zmq_engine_key_path',
        default='/etc/nova_market/engine-keys',
        help="""
With [fairness]exchange = zmq: directory of the market engine's own CURVE key pair and of the public keys of
the hosts, as `zmq_key_path` is for a host. An engine has a name and a key of its own, also on a machine where
nova-fairness runs.
""",
    ),
]

OPTIONS = TOPOLOGY + MEMBERS + WIRE + MARKET


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTIONS)]
