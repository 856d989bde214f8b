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
        help='Largest number of items on a page, and the number when a request gives no limit.',
    ),
    cfg.IntOpt(
        'max_budgets',
        default=100,
        min=0,
        max=9999,
        help='Largest number of budgets of one project.',
    ),
    cfg.IntOpt(
        'max_apps',
        default=100,
        min=0,
        max=9999,
        help='Largest number of applications of one project that have not ended; including those that have '
        'ended, ten times as many are kept.',
    ),
    cfg.IntOpt(
        'max_queues',
        default=20,
        min=0,
        max=9999,
        help='Largest number of queues of one project.',
    ),
    cfg.FloatOpt(
        'queue_name_rest',
        default=7 * 86400.0,
        min=0,
        max=10 * 365 * 86400.0,
        help='Seconds for which the name of a queue that was deleted or renamed rests: meanwhile only the '
        'user who had it may give it to another queue of the project. Otherwise submitters who still use the '
        'name would send their scripts and credentials to a new owner. 0 = names are free at once.',
    ),
    cfg.IntOpt(
        'max_waiting_jobs',
        default=10_000,
        min=0,
        max=1_000_000,
        help='Largest number of jobs of one project that wait or are held, over all queues. Each submission '
        'counts them: 100,000 cost it some ten milliseconds.',
    ),
    cfg.IntOpt(
        'max_jobs_per_request',
        default=1000,
        min=1,
        max=1000,
        help='Largest number of jobs of one submission, and so of one array. A smaller number keeps single '
        'requests short; queues have limits for arrays of their own.',
    ),
    cfg.ListOpt(
        'trust_roles',
        default=['member'],
        help="""
Roles that the creator of an application delegates to the controller, and the creator of a queue to the
service of jobs, by a trust of Keystone, as far as the creator has them. Choose those that Nova, Neutron and
Glance require to create servers. Empty = all roles that the creator has in the project; an administrator
then delegates his rights over the cloud for the lifetime of the application or queue.
""",
    ),
    cfg.FloatOpt(
        'request_rate',
        default=100.0,
        min=0,
        max=1_000_000,
        help="""
What requests of one project may cost in each second. A unit is a short read, which takes a process 1 to
2 ms; a list costs 4 of them, a change 5, a request for offers or for a lease 20, and long bodies and many
jobs, tasks or nodes more. Each process of the API counts for itself, so with four processes a project may
have up to four times as much. What is more gets 429 with the time after which to send it again. A user
whose token is of no project, and each service, has the same rate. 0 = no limit. Lower it when one project
slows down the others; raise it when projects are refused that do what they should
(nova_market_api_refused_requests_total in /metrics).
""",
    ),
    cfg.FloatOpt(
        'request_burst',
        default=3000.0,
        min=1,
        max=1_000_000_000,
        help='What requests of one project may cost at once, after a time without requests. What one '
        'request costs beyond that is not counted. Units as in request_rate.',
    ),
    cfg.FloatOpt(
        'worker_rate',
        default=20.0,
        min=0,
        max=1_000_000,
        help='Messages of one worker in each second; one with 64 KiB of output counts as eleven. '
        '0 = no limit. An agent sends three messages for each job and one in each [jobs]heartbeat, so only '
        'a guest that was taken over comes near it. Each process of the API counts for itself.',
    ),
    cfg.FloatOpt(
        'worker_burst',
        default=200.0,
        min=1,
        max=1_000_000,
        help='Messages of one worker at once, after a time without messages; counted as in worker_rate.',
    ),
    cfg.FloatOpt(
        'report_interval',
        default=1.0,
        min=0,
        max=3600,
        help='Shortest time in seconds between two reports of an application, or of one of its servers, on '
        'average; two may come at once. Each process of the API counts for itself. 0 = no limit.',
    ),
    cfg.StrOpt(
        'response_validation',
        default='warn',
        choices=[
            ('error', 'check every line, and respond 500: for tests and development'),
            (
                'warn',
                'check the first lines of one in ten responses, log the fault, and respond normally',
            ),
            ('ignore', 'do not check'),
        ],
        help='What happens when a response does not fit the published schema.',
    ),
    cfg.BoolOpt(
        'metrics_enabled',
        default=False,
        help="Serve /metrics to Prometheus: prices, and every project's balance. Needs metrics_token.",
    ),
    cfg.StrOpt(
        'metrics_token',
        secret=True,
        help='Token that Prometheus sends as "Authorization: Bearer ..."; choose a long random text.',
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTIONS)]
