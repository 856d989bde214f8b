# SPDX-License-Identifier: Apache-2.0
"""Options of group [nova_market] in nova.conf: what the scheduler plug-ins read and how much they count."""

from keystoneauth1 import loading
from oslo_config import cfg

GROUP = cfg.OptGroup('nova_market', title="nova-market's scheduler filters and weighers")

SERVICE_TYPE = 'market'

SNAPSHOT = [
    cfg.FloatOpt(
        'refresh',
        default=20.0,
        min=1.0,
        max=3600.0,
        help="""
Seconds between two looks at the market API, in each scheduler process and in the background. A third of
`[market]period` is a good value: a round that is not new costs the API a line.
""",
    ),
    cfg.FloatOpt(
        'max_age',
        default=300.0,
        min=1.0,
        max=86_400.0,
        help="""
Seconds after which a round is too old to place servers by: filters then let everything pass and weighers
are silent until there is a newer one. At least two times `[market]period`.
""",
    ),
    cfg.IntOpt(
        'max_snapshot_mib',
        default=8,
        min=1,
        max=1024,
        help="""
MiB of an answer of the market API above which it is not read; 10,000 hosts and 2,000 projects are about 1.6.
While one is parsed the other threads of the process stand still, so not more than is needed.
""",
    ),
]

FILTERS = [
    cfg.IntOpt(
        'affordable_periods',
        default=60,
        min=0,
        max=1_000_000,
        help="""
AffordableFilter: periods for which a project must be able to pay for a new server of a flavor that asks for
the market and does not say `market:affordable_periods`. 0 = only flavors that say it are checked.
""",
    ),
    cfg.FloatOpt(
        'lease_window',
        default=86_400.0,
        min=0.0,
        max=315_360_000.0,
        help="""
LeaseFilter: seconds a server is taken to live when its flavor has no `market:duration`. Hosts that
others have reserved for a time that begins within it are closed to the server.
""",
    ),
]

WEIGHTS = {
    'bid_load': (1.0, 'BidLoadWeigher: positive = hosts with few bids for their size first.'),
    'allocation_error': (
        1.0,
        'AllocationErrorWeigher: positive = hosts where everybody still gets what his bid buys first.',
    ),
    'heaviness': (1.0, 'HeavinessWeigher: positive = heavy projects beside heavy ones.'),
    'power': (0.0, 'PowerWeigher: positive = hosts that need few watts a core first.'),
    'packing': (
        0.0,
        (
            'PackingWeigher: positive = hosts with most servers first. It works against the spreading of '
            "Nova's RAM and CPU weighers and of BidLoadWeigher: lower theirs."
        ),
    ),
}

MULTIPLIERS = [
    cfg.FloatOpt(
        f'{name}_weight_multiplier',
        default=default,
        help=f"""
{text} 0 = it does not count and costs nothing. On hosts of an aggregate whose metadata has the same name,
that counts instead.
""",
    )
    for name, (default, text) in WEIGHTS.items()
]

OPTIONS = SNAPSHOT + FILTERS + MULTIPLIERS


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)
    loading.register_auth_conf_options(conf, GROUP.name)
    loading.register_session_conf_options(conf, GROUP.name)
    loading.register_adapter_conf_options(conf, GROUP.name)
    conf.set_default('service_type', SERVICE_TYPE, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """For a sample of what goes into nova.conf; it is no part of nova_market.conf."""
    options = (
        OPTIONS
        + loading.get_auth_common_conf_options()
        + loading.get_auth_plugin_conf_options('password')
        + loading.get_session_conf_options()
        + loading.get_adapter_conf_options(include_deprecated=False)
    )
    return [(GROUP, options)]
