# SPDX-License-Identifier: Apache-2.0
"""Options of group [controller]: the service that scales applications."""

from oslo_config import cfg

from nova_market.core.app.policies.price_smoothing import KEEP
from nova_market.core.app.template import Rest

GROUP = cfg.OptGroup('controller', title='The controller of applications')

OPTIONS = [
    cfg.StrOpt(
        'name',
        default='',
        help="""
Name of this controller. Controllers elect a leader through `[market]coordination_url`. Empty =
`controller.` and the host's name.
""",
    ),
    cfg.FloatOpt(
        'interval',
        default=10.0,
        min=1.0,
        max=3600.0,
        help="""
Seconds between two passes. Decisions are made once in each round of the market. In each pass the
controller creates servers that are missing and deletes those that are not wanted. For that it reads the
servers of each project with applications from Nova.
""",
    ),
    cfg.IntOpt(
        'horizon',
        default=60,
        min=1,
        max=1_000_000,
        help="""
Number of periods for which a budget that does not renew itself should last, when the application has no
deadline: in each period the controller spends at most one part in this number of what is left.
""",
    ),
    cfg.FloatOpt(
        'report_life',
        default=300.0,
        min=1.0,
        max=86_400.0,
        help="""
Seconds for which a report of a metric or of a queue is valid. An application without a valid report is
left as it is. Must be longer than the interval of the monitors.
""",
    ),
    cfg.FloatOpt(
        'price_memory',
        default=KEEP,
        min=0.0,
        max=0.99,
        help="""
Part of a price that still counts one round later, when the controller plans how many servers an
application can pay for, and whether it can start (with the policies `stop` and `best_effort` also whether
it can resume): it plans by the largest of the last price, this part of the one before, this part of that
part of the one before that, and so on. A rise of the price counts at once, a fall little by little. With
a small value, applications that grow and shrink find the cloud cheap as soon as something is idle,
request too many servers together, and give them back; those that are outbid are suspended and resumed in
turn. With a large value they need longer to come back after the price has fallen: 0.9 halves a price in
seven rounds, 0.99 in 69. 0 = the last price only.
""",
    ),
    cfg.FloatOpt(
        'first_pause',
        default=15.0,
        min=1.0,
        max=86_400.0,
        help="""
Seconds before a server that could not be created is created again. Each further failure doubles the
pause.
""",
    ),
    cfg.FloatOpt(
        'longest_pause',
        default=900.0,
        min=1.0,
        max=86_400.0,
        help='Longest pause in seconds; see first_pause.',
    ),
    cfg.StrOpt(
        'when_suspended',
        default=str(Rest.SUSPEND),
        choices=[
            (str(Rest.SUSPEND), 'suspended: memory is written to the host and kept, room is kept'),
            (str(Rest.SHELVE), 'shelved: memory is lost, and room is free for others'),
        ],
        help="""
What becomes of the servers of an application that is suspended, when its template does not say so. A
suspended server keeps its room on its host in Placement, and goes on where it was within seconds. A
shelved one gives its room back: Nova shuts its guest down, stores its disk as an image in Glance, and
boots it again on any host that has room, which takes as long as the upload and the download of that image
take. Its memory, and a process that is not started at boot, are lost. Choose `shelve` where room is
scarcer than the network and the store of images. Nova frees the room at once only with
`[DEFAULT]shelved_offload_time = 0`, its default.
""",
    ),
    cfg.FloatOpt(
        'settle_time',
        default=120.0,
        min=1.0,
        max=86_400.0,
        help="""
Seconds in which a server may still appear after a request to create it that got no response. In that time
no other server is requested in its place, and its application is not deleted. Must be longer than Nova
needs to respond while Neutron, Placement or its message bus are slow; a value below twice
`[openstack]timeout` is raised to that.
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
