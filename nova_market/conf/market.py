# SPDX-License-Identifier: Apache-2.0
"""Options of group [market]: the engine's rounds, prices, credits and where it reports."""

from oslo_config import cfg

GROUP = cfg.OptGroup('market', title='The market engine')

ROUNDS = [
    cfg.IntOpt(
        'period',
        default=60,
        min=5,
        max=86_400,
        help="""
Seconds of a period: bids and prices are per period, and a round is run in each. All engines and the hosts'
`[fairness]interval` go with it: hosts confirm within an interval, and what they don't confirm within the
period is not charged. To change it, stop all engines first; what is stored is by number of the period.
""",
    ),
    cfg.StrOpt(
        'name',
        default='',
        help="""
Name of this engine, which hosts must list in `[exchange]market_engines`; no other engine and no host may
have it. Empty = `engine.` and the host's name.
""",
    ),
    cfg.StrOpt(
        'coordination_url',
        default='file:///var/lib/nova_market/coordination',
        secret=True,
        help="""
Where engines agree on who leads: URL of a tooz driver, for example redis://:PASSWORD@controller:6379 or
etcd3+http://controller:2379. A directory is enough for engines on one machine. Empty = this is the only
engine there will ever be.
""",
    ),
    cfg.FloatOpt(
        'whole_reading',
        default=300.0,
        min=0.0,
        max=86_400.0,
        help="""
Seconds between two readings of all servers from Nova; between them only what has changed is read. Metadata
that is changed after a server was made counts after at most this time. 0 = always everything.
""",
    ),
]

PRICES = [
    cfg.StrOpt(
        'pricing',
        default='clearing',
        help="""
How prices are made, a plug-in of `nova_market.pricing`: `clearing`, the price at which the bids of this
period take just what there is, or `demand`, which follows demand from period to period.
""",
    ),
    cfg.StrOpt(
        'reserve_price_cpu',
        default='0.001',
        help="""
Least price of a core, in credits per period. Who bids nothing is taken to bid the price of the period
before, at first this; with 0 nobody would ever get anything without a bid.
""",
    ),
    cfg.StrOpt(
        'reserve_price_memory',
        default='0.001',
        help='Least price of a GiB of memory, in credits per period; see reserve_price_cpu.',
    ),
    cfg.FloatOpt(
        'host_reserve_cores',
        default=1.0,
        min=0.0,
        max=1024.0,
        help='Cores of every host that are not divided, beside those that Nova reserves itself.',
    ),
    cfg.FloatOpt(
        'host_reserve_memory_mib',
        default=1024.0,
        min=0.0,
        max=2.0**30,
        help='MiB of every host that are not divided, beside those that Nova reserves itself.',
    ),
]

CREDITS = [
    cfg.StrOpt(
        'currency',
        default='recharge',
        help="""
How credits come back, a plug-in of `nova_market.currency`: `recharge` hands out `total_credits` by project
weight and returns what was paid after `return_delay`; `redistribute` splits what was paid by weight.
""",
    ),
    cfg.StrOpt(
        'total_credits',
        default='0',
        help="""
Credits that `recharge` hands out to all projects together, by weight. A change counts at the next renewal:
projects are given the difference, or it is taken from them as far as they have it. 0 = administrators
grant by hand.
""",
    ),
    cfg.IntOpt(
        'renew_every',
        default=60,
        min=1,
        max=1_000_000,
        help='Periods from one handing out to the next, with either policy.',
    ),
    cfg.IntOpt(
        'return_delay',
        default=60,
        min=0,
        max=1_000_000,
        help="""
Periods after which `recharge` returns a charge to the project that paid it. Who bids spends his credits for
so long. 0 = charges are not returned but split by weight. `nova-market-manage db purge` must keep
longer than this.
""",
    ),
    cfg.FloatOpt(
        'tax_percent',
        default=0.0,
        min=0.0,
        max=100.0,
        help="""
Part of what a project holds above `tax_floor` that is taken at each handing out and split by weight at the
next one, against hoarding. 0 = none.
""",
    ),
    cfg.StrOpt('tax_floor', default='0', help='Credits of a project that are not taxed.'),
    cfg.IntOpt(
        'notice_periods',
        default=60,
        min=0,
        max=1_000_000,
        help="""
An account whose credits last for fewer periods at its present spending is told once, by the notification
market.credit.low. 0 = nobody is told.
""",
    ),
]

REPORTS = [
    cfg.StrOpt(
        'metrics_address',
        default='127.0.0.1',
        help='Address of the Prometheus endpoint. It names projects: do not open it to tenants.',
    ),
    cfg.PortOpt(
        'metrics_port',
        default=0,
        help='TCP port of the Prometheus endpoint, for example 9654; 0 = none.',
    ),
    cfg.BoolOpt(
        'metrics_balances',
        default=False,
        help="""
Also export what each project has, one series per project with the label `project`; tenants can be shown
their own through Aetos.
""",
    ),
]

OPTIONS = ROUNDS + PRICES + CREDITS + REPORTS


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTIONS)]
