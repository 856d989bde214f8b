# SPDX-License-Identifier: Apache-2.0
"""Options of group [nova_market] in nova.conf: what the scheduler plug-ins read, and their multipliers."""

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
Seconds between two requests to the market API, which each scheduler process makes in the background. A
third of `[market]period` is a good value: the response is one line when the round is not new.
""",
    ),
    cfg.FloatOpt(
        'max_age',
        default=300.0,
        min=1.0,
        max=86_400.0,
        help="""
Seconds after which a round is too old for placing servers. Filters then pass every host, and weighers
return no weights, until there is a newer round. At least twice `[market]period`.
""",
    ),
    cfg.IntOpt(
        'max_snapshot_mib',
        default=8,
        min=1,
        max=1024,
        help="""
Largest response of the market API that is read, in MiB; 10,000 hosts and 2,000 projects need about 1.6.
While a response is parsed, the other threads of the process wait, so do not allow more than is needed.
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
AffordableFilter: number of periods for which a project must be able to pay for a new server, if its
flavor has extra specs of the market but not `market:affordable_periods`. 0 = only flavors with that extra
spec are checked.
""",
    ),
    cfg.FloatOpt(
        'lease_window',
        default=86_400.0,
        min=0.0,
        max=315_360_000.0,
        help="""
LeaseFilter: assumed lifetime of a server in seconds, when its flavor has no `market:duration`. It is not
placed where it would take room of a lease that begins within it. Shorter = hosts are used for longer before a
lease begins, and more servers are still there then.
""",
    ),
]

WEIGHTS = {
    'bid_load': (1.0, 'BidLoadWeigher: positive = prefer hosts with few bids for their size.'),
    'allocation_error': (
        1.0,
        'AllocationErrorWeigher: positive = prefer hosts where each server gets what its bid buys.',
    ),
    'heaviness': (1.0, 'HeavinessWeigher: positive = place heavy projects beside heavy ones.'),
    'power': (0.0, 'PowerWeigher: positive = prefer hosts that need few watts per core.'),
    'packing': (
        0.0,
        (
            "PackingWeigher: positive = prefer hosts with most servers. Nova's RAM and CPU weighers and "
            'BidLoadWeigher have the opposite effect: lower their multipliers.'
        ),
    ),
}

MULTIPLIERS = [
    cfg.FloatOpt(
        f'{name}_weight_multiplier',
        default=default,
        help=f"""
{text} 0 = the weigher is not used and costs nothing. On the hosts of an aggregate, metadata of the same
name replaces this value.
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
