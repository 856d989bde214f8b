# SPDX-License-Identifier: Apache-2.0
"""Options of group [rebalancing]: when and how the market engine moves servers between hosts."""

from oslo_config import cfg

from nova_market.core.rebalancing.settings import ADVISE, AUTO, OFF

GROUP = cfg.OptGroup('rebalancing', title='Live migrations that make allocation errors smaller')

SEARCH = [
    cfg.StrOpt(
        'mode',
        default=ADVISE,
        choices=[
            (OFF, 'no plans; a migration that runs is observed to its end, and no other begins'),
            (ADVISE, 'plans are shown, and carried out when an administrator approves them'),
            (AUTO, 'plans are carried out at once'),
        ],
        help='What the engine does with plans of migrations that it finds.',
    ),
    cfg.IntOpt(
        'every',
        default=5,
        min=1,
        max=10_000,
        help='Periods from one search to the next. A search costs seconds of CPU at thousands of hosts.',
    ),
    cfg.FloatOpt(
        'tolerated_error',
        default=0.01,
        min=0.0,
        max=1.0,
        help="""
Allocation error that is tolerated, as a part of the ideal allocation (Emax of the paper). A higher value
means fewer migrations and less exact allocations.
""",
    ),
    cfg.IntOpt(
        'idle_iterations',
        default=50,
        min=1,
        max=100_000,
        help='The search ends after this number of iterations without a better result (Niter of the paper).',
    ),
    cfg.IntOpt(
        'migrations',
        default=10,
        min=1,
        max=100_000,
        help='Largest number of servers that one plan moves, one after the other (Mmax of the paper).',
    ),
    cfg.IntOpt(
        'inflow',
        default=2,
        min=1,
        max=100_000,
        help='Largest number of servers that one plan moves to one host.',
    ),
    cfg.IntOpt(
        'horizon',
        default=60,
        min=1,
        max=1_000_000,
        help='Periods in which the gain of a move must exceed its cost; see copy_rate.',
    ),
    cfg.FloatOpt(
        'copy_rate',
        default=110.0,
        min=0.0,
        max=1e6,
        help="""
MiB/s at which live migrations copy RAM. For as long as a copy lasts it takes the server's RAM a second time,
`copy_cores` cores, and a tenth of the server's own cores. A move is dropped when that is worth more than what
the move lets the market deliver in addition in `horizon` periods, both at the prices of the round. The
default is what a gigabit link carries. Set the rate of your own migrations: RAM divided by duration. A lower
value means fewer migrations. 0 = copying costs nothing.
""",
    ),
    cfg.FloatOpt(
        'copy_cores',
        default=1.0,
        min=0.0,
        max=1000.0,
        help='Cores that are busy while RAM is copied, on both hosts together. A higher value means fewer '
        'migrations.',
    ),
]

CARRYING_OUT = [
    cfg.FloatOpt(
        'cool_down',
        default=600.0,
        min=0.0,
        max=1e6,
        help='Seconds after a migration in which a server is not moved again. Each failure in a row '
        'doubles them.',
    ),
    cfg.FloatOpt(
        'longest_cool_down',
        default=86_400.0,
        min=0.0,
        max=1e7,
        help='Upper limit of cool_down, however often migrations of the server failed.',
    ),
    cfg.FloatOpt(
        'approval_valid',
        default=3600.0,
        min=60.0,
        max=1e6,
        help='Seconds within which an approved plan must begin; an older one is superseded.',
    ),
    cfg.FloatOpt(
        'begin_within',
        default=120.0,
        min=10.0,
        max=3600.0,
        help='Seconds after which a migration that Nova accepted and did not begin is taken as failed.',
    ),
    cfg.FloatOpt(
        'end_within',
        default=7200.0,
        min=60.0,
        max=1e6,
        help="""
Seconds after which the engine no longer waits for a migration. It does not abort the migration: Nova has
[libvirt]live_migration_completion_timeout for that, which must be shorter.
""",
    ),
]

OPTIONS = SEARCH + CARRYING_OUT


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTIONS)]
