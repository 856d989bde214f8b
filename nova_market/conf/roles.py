# SPDX-License-Identifier: Apache-2.0
"""Options of group [roles]: how often Keystone is asked what users may still do."""

from oslo_config import cfg

GROUP = cfg.OptGroup('roles', title='Roles of users for whom services act')

OPTIONS: list[cfg.Opt] = [
    cfg.FloatOpt(
        'ask_every',
        default=300.0,
        min=10.0,
        max=86_400.0,
        help="""
Seconds for which an answer of Keystone counts. A bag of tasks negotiates, an application bids, and notices
are sent, only as long as their user has a role in the project that allows it; so whoever loses it spends
and reads for at most so long. An answer by which he may not counts for 10 s, as he may have got a role
since. Each answer takes four requests to Keystone for each such user and project, five where they have
domains of their own.
""",
    ),
    cfg.FloatOpt(
        'keep',
        default=3600.0,
        min=10.0,
        max=7 * 86_400.0,
        help="""
Seconds after its answer for which the last one by which a user may counts, while Keystone does not answer or
with an error. Then bags and notices of that user wait until it does, and his applications stay as they are,
with the bids that they have. At least `ask_every`.
""",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTIONS)]
