# SPDX-License-Identifier: Apache-2.0
"""Options of group [market]: rounds, prices, credits and metrics of the engine."""

from oslo_config import cfg

GROUP = cfg.OptGroup('market', title='The market engine')

ROUNDS = [
    cfg.IntOpt(
        'period',
        default=60,
        min=5,
        max=86_400,
        help="""
Length of a period in seconds. Bids and prices are per period, and one round is run in each. All engines
must have the same value, and it must be longer than the hosts' `[fairness]interval`, because hosts
apply allocations once per interval, and what is not in force within the period is not charged. To
change it, stop all engines first, because rounds are stored by the number of their period.
""",
    ),
    cfg.StrOpt(
        'name',
        default='',
        help="""
Name of this engine. Hosts must list it in `[exchange]market_engines`. It must differ from the names of
all other engines and of all hosts. Empty = `engine.` and the host's name.
""",
    ),
    cfg.StrOpt(
        'coordination_url',
        default='file:///var/lib/nova_market/coordination',
        secret=True,
        help="""
URL of a tooz driver through which engines elect a leader, for example redis://:PASSWORD@controller:6379
or etcd3+http://controller:2379. A directory is enough for engines on one machine. Empty = this engine
always leads; then never start a second one.
""",
    ),
    cfg.FloatOpt(
        'whole_reading',
        default=300.0,
        min=0.0,
        max=86_400.0,
        help="""
Seconds between two readings of all servers from Nova. Between them only servers are read that Nova
reports as changed. Nova does not report changes of metadata, so a bid that is changed in metadata takes
effect after at most this time. 0 = all servers are read in each round.
""",
    ),
]

PRICES = [
    cfg.StrOpt(
        'pricing',
        default='clearing',
        help="""
How prices are computed, a plug-in of `nova_market.pricing`: `clearing`, the price at which the demand of
this period equals the capacity, or `demand`, which follows the demand from period to period.
""",
    ),
    cfg.StrOpt(
        'reserve_price_cpu',
        default='0.001',
        help="""
Lowest price of a core, in credits per period. It is the price while there is more capacity than servers
can use.
""",
    ),
    cfg.StrOpt(
        'reserve_price_memory',
        default='0.001',
        help='Lowest price of a GiB of memory, in credits per period; see reserve_price_cpu.',
    ),
    cfg.FloatOpt(
        'price_breaker',
        default=2.0,
        min=1.01,
        max=1e9,
        help="""
Largest factor between the price of a resource in one period and in the period before, upwards and
downwards. A price that is held below what the bids would make changes no allocation, only the charges
are lower; one that is held above charges nobody more than the bid. With 2, a price needs ten periods to
become a thousand times as high, so that payers and their applications can react. A price that
rises from `reserve_price_cpu` or `reserve_price_memory`, or falls to it, is not held. A very large value,
such as 1e9, switches the breaker off.
""",
    ),
    cfg.FloatOpt(
        'host_reserve_cores',
        default=1.0,
        min=0.0,
        max=1024.0,
        help='Cores of every host that the market does not divide, in addition to those that Nova reserves.',
    ),
    cfg.FloatOpt(
        'host_reserve_memory_mib',
        default=1024.0,
        min=0.0,
        max=2.0**30,
        help='MiB of every host that the market does not divide, in addition to those that Nova reserves.',
    ),
]

CREDITS = [
    cfg.StrOpt(
        'currency',
        default='recharge',
        help="""
How credits return to projects, a plug-in of `nova_market.currency`: `recharge` distributes
`total_credits` by project weight, and returns charges to their payers after `return_delay`;
`redistribute` divides all charges by weight.
""",
    ),
    cfg.StrOpt(
        'total_credits',
        default='0',
        help="""
Credits that `recharge` distributes to all projects together, by weight. A change takes effect at the next
renewal: projects receive the difference, or it is taken from them: from the account, then from budgets, and
what is held for rounds, jobs and leases as soon as it comes back. 0 = administrators grant credits by hand.
""",
    ),
    cfg.FloatOpt(
        'new_project_weight',
        default=0.0,
        min=0.0,
        max=1e6,
        help="""
Weight of a project for which no administrator has set one, in what is distributed: `total_credits`, with
`redistribute` the income, and the tax. It counts from the first round in which the project has a running
server. With 0 a new project gets nothing, and its servers have the least weight on their hosts, until it gets
a weight (`openstack market account set --weight`) or credits (`openstack market account grant`). With more
than 0 each new project is income, taken from the others: choose that only where tenants cannot make projects
themselves. A change takes effect at the next renewal, also for projects that are there. Set it for the API
too, which shows it.
""",
    ),
    cfg.IntOpt(
        'renew_every',
        default=60,
        min=1,
        max=1_000_000,
        help='Periods from one distribution of credits to the next, with either plug-in.',
    ),
    cfg.IntOpt(
        'return_delay',
        default=60,
        min=0,
        max=1_000_000,
        help="""
Periods after which `recharge` returns a charge to the project that paid it. Until then the project cannot
use these credits. 0 = charges are divided by weight instead. `nova-market-manage db purge` must keep more
than this.
""",
    ),
    cfg.FloatOpt(
        'tax_percent',
        default=0.0,
        min=0.0,
        max=100.0,
        help="""
Tax against hoarding: the percentage of what a project has above `tax_floor` that is taken at each
distribution and divided by weight at the next one. Its account, its budgets and what is held for its rounds,
jobs and leases count. What its account lacks is taken from its budgets, and the rest in the rounds after. 0 =
no tax.
""",
    ),
    cfg.StrOpt(
        'tax_floor',
        default='0',
        help='What a project may have, in credits, with budgets and what is held, without being taxed.',
    ),
    cfg.ListOpt(
        'project_shares',
        default=[],
        help="""
Granted part of the cloud of projects, for `ShareGuaranteeFilter` of Nova's scheduler, as `PROJECT_ID:SHARE`
with a share from 0 to 1. A project that is not named may grow as its quota allows. The filter counts workers
of queues too: a project with queues needs at least their shares, and flavors of `market:class` `short` or
`best-effort` for jobs that may go beyond.
""",
    ),
    cfg.IntOpt(
        'notice_periods',
        default=60,
        min=0,
        max=1_000_000,
        help="""
When the credits of an account will last for fewer periods than this at its present spending, the engine
publishes the notification market.credit.low once. 0 = it publishes none.
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
Also export the balance of each project, what it can spend per period for ever, and what that buys: three
series per project, with the label `project`. Through Aetos each tenant can see its own.
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
