# SPDX-License-Identifier: Apache-2.0
"""Options of group [power]: what switches hosts on and off."""

from oslo_config import cfg

GROUP = cfg.OptGroup('power', title='Hosts powered down and up')

OPTIONS = [
    cfg.StrOpt(
        'actuator',
        default='none',
        help="""
What switches hosts on and off, a plug-in of `nova_market.power`: `none` (switches nothing), `script` (a
program of yours), `redfish` (the management controllers of the hosts), `ironic` (nodes of an Ironic), or one
of another package. So far it is used by `nova-market-manage power` only; no service switches hosts.
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


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTIONS)]
