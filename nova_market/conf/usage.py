# SPDX-License-Identifier: Apache-2.0
"""Options of group [usage_history]: how long the history of what servers used is kept."""

from oslo_config import cfg

GROUP = cfg.OptGroup('usage_history', title='Usage history')

OPTIONS: list[cfg.Opt] = [
    cfg.IntOpt(
        'keep_minutes',
        default=24,
        min=1,
        max=24 * 31,
        help="""
Hours for which the use of each server is kept minute by minute. 10,000 servers take about 80 MB of the
database per 24 hours. Advice on sizes is given by the finest resolution that an interval still has.
""",
    ),
    cfg.IntOpt(
        'keep_ten_minutes',
        default=30,
        min=1,
        max=3650,
        help="""
Days for which the use of each server is kept by ten minutes. 10,000 servers take about 18 MB per day.
""",
    ),
    cfg.IntOpt(
        'keep_days',
        default=730,
        min=1,
        max=36_500,
        help='Days for which the use of each server is kept by days of UTC, 0.2 MB for 10,000 servers.',
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTIONS)]
