# SPDX-License-Identifier: Apache-2.0
"""Options of group [controller]: how applications are looked after."""

from oslo_config import cfg

GROUP = cfg.OptGroup('controller', title='The controller of applications')

OPTIONS = [
    cfg.StrOpt(
        'name',
        default='',
        help="""
Name of this controller among those that take turns to lead, through `[market]coordination_url`. Empty =
`controller.` and the host's name.
""",
    ),
    cfg.FloatOpt(
        'interval',
        default=10.0,
        min=1.0,
        max=3600.0,
        help="""
Seconds between two looks at the servers of applications. Decisions are made once in each round of the market;
between them servers that are missing are made, and those that are not wanted deleted. Each look reads the
marked servers of each project that has applications from Nova.
""",
    ),
    cfg.IntOpt(
        'horizon',
        default=60,
        min=1,
        max=1_000_000,
        help="""
Periods for which a budget that does not renew itself is to last, when the application has no deadline: in
each period the controller spends at most this part of what is left.
""",
    ),
    cfg.FloatOpt(
        'report_life',
        default=300.0,
        min=1.0,
        max=86_400.0,
        help="""
Seconds after which a report of a metric or of a queue does not count any more. An application that nobody
reports of is left as it is. Give more than the monitors' interval.
""",
    ),
    cfg.FloatOpt(
        'first_pause',
        default=15.0,
        min=1.0,
        max=86_400.0,
        help="""
Seconds before a server whose making failed is made again; twice as long after each further failure.
""",
    ),
    cfg.FloatOpt(
        'longest_pause',
        default=900.0,
        min=1.0,
        max=86_400.0,
        help='Seconds that this pause grows to at most.',
    ),
    cfg.FloatOpt(
        'settle_time',
        default=120.0,
        min=1.0,
        max=86_400.0,
        help="""
Seconds in which a server may still come whose making Nova was asked for without an answer. In that time no
other one is asked for in its place, and its application is not forgotten. Give more than Nova needs to answer
while Neutron, Placement or its message bus are slow; at least twice `[openstack]timeout` counts.
""",
    ),
    cfg.StrOpt(
        'metrics_address',
        default='127.0.0.1',
        help='Address of the Prometheus endpoint.',
    ),
    cfg.PortOpt(
        'metrics_port',
        default=0,
        help='TCP port of the Prometheus endpoint, for example 9655; 0 = none.',
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTIONS)]
