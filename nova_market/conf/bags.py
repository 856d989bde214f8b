# SPDX-License-Identifier: Apache-2.0
"""Options of group [bags]: bags of tasks, which negotiate for their owners."""

from oslo_config import cfg

from nova_market.core.tender.bag import MAX_TASKS

GROUP = cfg.OptGroup('bags', title='Bags of tasks')

OPTIONS = [
    cfg.IntOpt(
        'max_tasks',
        default=MAX_TASKS,
        min=1,
        max=100_000,
        help='Largest number of tasks of one bag. A pass reads those of a bag that wait when it negotiates.',
    ),
    cfg.IntOpt(
        'max_open',
        default=100,
        min=1,
        max=10_000,
        help='Largest number of bags of one project that have not ended.',
    ),
    cfg.IntOpt(
        'tries',
        default=100,
        min=1,
        max=100_000,
        help='Requests for offers and acceptances of all bags in one pass of nova-market-jobs; what is left '
        'is done in the next pass. More of them place the tasks of large bags sooner.',
    ),
    cfg.FloatOpt(
        'seconds',
        default=1.0,
        min=0.01,
        max=60,
        help='Seconds of one pass of nova-market-jobs after which bags go on in the next pass: they come '
        'on top of what a pass takes for jobs. What was begun is finished: a task, and the requests to '
        'Keystone about one user ([roles]ask_every), each of which may last [openstack]timeout. Less than '
        '[jobs]interval.',
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTIONS)]
