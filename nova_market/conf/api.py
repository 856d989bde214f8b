# SPDX-License-Identifier: Apache-2.0
"""Options of group [api]: the market's API service. Tokens are [keystone_authtoken], rules [oslo_policy]."""

from oslo_config import cfg

GROUP = cfg.OptGroup('api', title='API of the market')

OPTIONS = [
    cfg.IntOpt(
        'max_limit',
        default=1000,
        min=1,
        max=9999,
        help='Most items of a page, and as many where a request gives no limit.',
    ),
    cfg.IntOpt('max_budgets', default=100, min=0, max=9999, help='Most budgets of one project.'),
    cfg.IntOpt(
        'max_apps',
        default=100,
        min=0,
        max=9999,
        help='Most applications of one project that have not ended. Ten times as many are kept in all.',
    ),
    cfg.ListOpt(
        'trust_roles',
        default=['member'],
        help="""
Roles that whoever begins an application hands on to the controller, by a trust of Keystone, as far as he
has them: those that Nova, Neutron and Glance ask for servers. Empty = all he has in the project. An
administrator then hands on his power over the cloud, for as long as his application is there.
""",
    ),
    cfg.FloatOpt(
        'report_interval',
        default=1.0,
        min=0,
        max=3600,
        help='Least seconds between two reports of an application, or of one of its servers.',
    ),
    cfg.StrOpt(
        'response_validation',
        default='warn',
        choices=[
            ('error', 'check every line and answer 500: for tests and development'),
            ('warn', 'check the first lines of a page, log it and answer all the same'),
            ('ignore', 'do not check'),
        ],
        help='What happens when a response breaks the published schema.',
    ),
    cfg.BoolOpt(
        'metrics_enabled',
        default=False,
        help="Serve /metrics to Prometheus: prices, and every project's balance. Needs metrics_token.",
    ),
    cfg.StrOpt(
        'metrics_token',
        secret=True,
        help='What Prometheus shows as "Authorization: Bearer ..."; give a long random text.',
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTIONS)]
