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
            (OFF, 'no plans; what runs is watched to its end and no further move is begun'),
            (ADVISE, 'plans are shown, and carried out when an administrator approves them'),
            (AUTO, 'plans are carried out at once'),
        ],
        help='What becomes of a better placement that the engine finds.',
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
Largest allocation error that is left alone, as a part of the ideal allocation (Emax of the paper). Higher
means fewer migrations and less exact shares.
""",
    ),
    cfg.IntOpt(
        'idle_iterations',
        default=50,
        min=1,
        max=100_000,
        help='The search ends after so many iterations without a better placement (Niter of the paper).',
    ),
    cfg.IntOpt(
        'migrations',
        default=10,
        min=1,
        max=100_000,
        help='Servers that one plan may move (Mmax of the paper). Moves are made one after the other.',
    ),
    cfg.IntOpt(
        'inflow', default=2, min=1, max=100_000, help='Servers that one plan may bring to one host.'
    ),
    cfg.IntOpt(
        'horizon',
        default=60,
        min=1,
        max=1_000_000,
        help='Periods over which a move must bring in what it costs; see cost_per_mib.',
    ),
    cfg.FloatOpt(
        'cost_per_mib',
        default=0.0,
        min=0.0,
        help="""
Micro-credits that copying one MiB of RAM counts as. A move is dropped when it makes the market deliver less
than this in `horizon` periods; 0 = copying costs nothing.
""",
    ),
]

CARRYING_OUT = [
    cfg.FloatOpt(
        'cool_down',
        default=600.0,
        min=0.0,
        max=1e6,
        help='Seconds for which a server stays after a migration; each failure in a row doubles them.',
    ),
    cfg.FloatOpt(
        'longest_cool_down',
        default=86_400.0,
        min=0.0,
        max=1e7,
        help='Most seconds for which a server stays, however often its migration failed.',
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
        help='Seconds after which a migration that Nova accepted and never began counts as failed.',
    ),
    cfg.FloatOpt(
        'end_within',
        default=7200.0,
        min=60.0,
        max=1e6,
        help="""
Seconds after which a migration is not waited for any more. It is not aborted: Nova has
[libvirt]live_migration_completion_timeout for that, and this must be longer.
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
