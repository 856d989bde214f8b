# SPDX-License-Identifier: Apache-2.0
"""Options of group [power]: what switches hosts on and off, and which hosts are not needed."""

from oslo_config import cfg

from nova_market.core.power.host_step import StepSettings
from nova_market.core.power.plan import PowerSettings
from nova_market.core.power.record import Mode

GROUP = cfg.OptGroup('power', title='Hosts powered down and up')

PLAN = PowerSettings()
STEPS = StepSettings()
DAY = 86_400.0

ACTUATOR = [
    cfg.StrOpt(
        'actuator',
        default='none',
        help="""
What switches hosts on and off, a plug-in of `nova_market.power`: `none` (switches nothing), `script` (a
program of yours), `redfish` (the management controllers of the hosts), `ironic` (nodes of an Ironic), or one
of another package.
""",
    ),
    cfg.StrOpt(
        'script',
        default='',
        help="""
Absolute path of the program that switches hosts, for the actuator `script`. It is called as `PROGRAM ACTION
HOST` with the action `state`, `on`, `off` or `force-off`, and must not be writable by group or others.
""",
    ),
    cfg.FloatOpt(
        'script_timeout',
        default=30.0,
        min=1.0,
        max=600.0,
        help="""
Seconds in which the program of `script` must end. Then it is killed with everything that it has started, and
called again in the next period. It need not wait until a host is off or up.
""",
    ),
    cfg.StrOpt(
        'redfish_hosts',
        default='',
        help="""
JSON file with the management controller of each host, its username and its password, for the actuator
`redfish`. Its mode must be 0600. A change is used after a restart.
""",
    ),
    cfg.FloatOpt(
        'redfish_timeout',
        default=10.0,
        min=1.0,
        max=120.0,
        help="""
Seconds that a request to a management controller may wait for an answer. Raise it for controllers that are
slow; one that does not answer holds up the others for that long.
""",
    ),
    cfg.StrOpt(
        'ironic_node',
        default='{host}',
        help="""
Name of a host's node in Ironic, for the actuator `ironic`: `{host}` is replaced by the name of the compute
host, `{short}` by that name up to its first dot. Ironic is asked with the account of group [openstack].
""",
    ),
]


def _seconds(name: str, default: float, text: str) -> cfg.FloatOpt:
    return cfg.FloatOpt(name, default=default, min=0.0, max=DAY, help=text)


NEEDED = [
    cfg.StrOpt(
        'mode',
        default=str(Mode.OFF),
        choices=[str(one) for one in Mode],
        help="""
What nova-market-leases does with hosts that are not needed: `off` nothing, `advise` leaves what it would do
for `nova-market-manage power list`, `auto` powers them down and wakes them. In `off` and `advise` hosts that
are down are woken. Hosts are those of `[leases]hosts`, but for `[leases]stays_on`.
""",
    ),
    cfg.FloatOpt(
        'fullest',
        default=PLAN.fullest,
        min=0.01,
        max=1.0,
        help="""
Part of the hosts that are on that the largest demand of the last hour may take. Below it hosts are powered
down, above it hosts are woken. A smaller value leaves more room for servers that come at once.
""",
    ),
    cfg.IntOpt(
        'spare_hosts',
        default=PLAN.spare,
        min=0,
        max=10_000,
        help='Hosts that stay on beyond what demand needs, the largest ones: so many may die.',
    ),
    cfg.IntOpt(
        'at_most',
        default=PLAN.at_most,
        min=1,
        max=10_000,
        help='Hosts that go down or come up at once. Hosts that a lease needs do not wait for it.',
    ),
    _seconds('idle', PLAN.idle, 'Seconds that a host is empty before it is powered down.'),
    _seconds(
        'least_off',
        PLAN.least_off,
        """
Seconds for which it pays to be off: a host that a lease needs sooner stays on, and one that came back is not
powered down again for so long.
""",
    ),
    _seconds(
        'wake',
        PLAN.wake,
        """
Seconds from the order to wake a host until servers can start there. Measure it: with less, leases begin late.
""",
    ),
    _seconds('margin', PLAN.margin, 'Seconds by which a host is woken earlier than a lease needs.'),
    _seconds(
        'settle',
        STEPS.settle,
        """
Seconds for which a host is seen empty, after it was disabled, until it is powered off. More than Nova takes
to bring a server to its host.
""",
    ),
    _seconds(
        'drain',
        STEPS.drain,
        'Seconds after which a host that was disabled and is still not empty is enabled again.',
    ),
    _seconds(
        'off_within',
        STEPS.off_within,
        """
Seconds that a host has to shut down. Then its power is taken away, and after as long again it is woken.
""",
    ),
    _seconds(
        'wake_within',
        STEPS.wake_within,
        """
Seconds after which a host that does not come is reported and planned without: more than twice `off_within`
and `settle`.
""",
    ),
]

OPTIONS = [*NEEDED, *ACTUATOR]


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTIONS)]
