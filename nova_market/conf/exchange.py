# SPDX-License-Identifier: Apache-2.0
"""Options of group [exchange]: topology, members, message format and keys of the exchange."""

from oslo_config import cfg

GROUP = cfg.OptGroup('exchange', title='How hosts exchange heaviness')

TOPOLOGY = [
    cfg.StrOpt(
        'topology',
        default='aggregate',
        choices=[
            (
                'aggregate',
                'hosts send sums to aggregators, and receive the totals of their own owners',
            ),
            ('broadcast', 'every host sends its sums to all others, as in the paper'),
        ],
        help="""
Which hosts send messages to which. `broadcast` needs no further option, and sends N * (N - 1) messages in
an interval: use it for up to some 50 hosts, and for comparison. `aggregate` sends 2 * N *
aggregator_count * copies small messages, and needs the names of some hosts: set `coordination_url`,
`members` or `aggregators`. All hosts of a cloud must have the same value.
""",
    ),
    cfg.ListOpt(
        'aggregators',
        default=[],
        help="""
Names of the hosts that are aggregators, for example controllers that run nova-fairness. Empty =
aggregators are elected among all hosts. Named hosts that are not members are ignored. Each owner belongs
to `copies` of them, which are chosen by hashing: name three at least, so that hosts can tell which one is
wrong. Used with topology `aggregate`. All hosts of a cloud must have the same value.
""",
    ),
    cfg.IntOpt(
        'aggregator_count',
        default=1,
        min=1,
        max=100,
        help="""
Number of aggregators that are elected when `aggregators` is empty. One is enough for more than 1,000
hosts. With more of them, owners are divided among them, and the loss of one delays fewer owners; each one
adds 2 * hosts * copies messages in an interval. All hosts of a cloud must have the same value.
""",
    ),
    cfg.IntOpt(
        'copies',
        default=3,
        min=1,
        max=3,
        help="""
Number of aggregators that add up each owner, where there are so many. A host compares their replies: with
three of them the middle number counts, and one that goes on to differ from the two others is left and
named in the log. With two, hosts can tell that one is wrong, and not which. Each one adds 2 * hosts *
aggregator_count messages in an interval. 1 = every host believes its aggregator. All hosts of a cloud must
have the same value; while some have another one, or are of an earlier version, nothing is compared.
""",
    ),
]

MEMBERS = [
    cfg.StrOpt(
        'coordination_url',
        default='',
        secret=True,
        help="""
URL of a tooz driver through which hosts find each other, for example redis://:PASSWORD@controller:6379,
etcd3+http://controller:2379, zookeeper://, memcached://, or file:///DIRECTORY for one machine. Hosts join
and leave automatically. While the backend is down, the members that were known last are used. Empty =
`members` or `aggregators` is used instead.
""",
    ),
    cfg.ListOpt(
        'members',
        default=[],
        help="""
All hosts, when there is no `coordination_url`: HOST=tcp://ADDRESS:PORT, separated by commas, or HOST
alone where the transport needs no address (oslo). With named `aggregators` and topology `aggregate` the
aggregators are enough. To add a host to the cloud, add it here on all hosts. With `coordination_url`:
the hosts that may be members of its group; names that somebody else has written there are not used.
Over zmq the hosts that have a public key in `zmq_key_path` may, when nothing is listed here.
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
        help='Format of the messages that a host sends. Each host reads both, so hosts may differ.',
    ),
    cfg.StrOpt(
        'zmq_bind',
        default='tcp://*:9653',
        help="""
Address on which this host listens with [fairness]exchange = zmq. An address of the management network is
better than `*`. Other hosts connect to it: open the port between compute hosts only.
""",
    ),
    cfg.StrOpt(
        'zmq_address',
        default='',
        help="""
Address, tcp://ADDRESS:PORT, that this host publishes through `coordination_url` for the others. Empty =
zmq_bind if that contains an address, else [host]name and the port of zmq_bind.
""",
    ),
    cfg.StrOpt(
        'zmq_key_path',
        default='/etc/nova_market/keys',
        help="""
Directory of this host's CURVE key pair, and of the public keys of the hosts that it accepts; see
`nova-market-manage keys`. Keys that are added or removed take effect without a restart.
""",
    ),
]

MARKET = [
    cfg.ListOpt(
        'market_engines',
        default=[],
        help="""
Names of the market's engines ([market]name of each). A host accepts allocations only from these. An
engine that is not listed here does not start. Empty = there is no market. Over zmq an engine proves its
name by its key, as a host does; over oslo every account that may write to the broker can send
allocations. All hosts and engines of a cloud must have the same value.
""",
    ),
    cfg.StrOpt(
        'zmq_engine_key_path',
        default='/etc/nova_market/engine-keys',
        help="""
With [fairness]exchange = zmq: directory of the market engine's own CURVE key pair and of the public keys
of the hosts, as `zmq_key_path` is for a host. An engine has its own name and its own key, also on a
machine where nova-fairness runs.
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
