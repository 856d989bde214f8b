# SPDX-License-Identifier: Apache-2.0
"""Options of group [jobs]: the service that runs jobs, and how often their workers call the API."""

from oslo_config import cfg

from nova_market.core.job.operator_limits import JobLimits
from nova_market.core.job.policy_interface import HostChoice, JobSettings, PreemptOrder
from nova_market.core.job.queue import MAX_TIME_LIMIT

GROUP = cfg.OptGroup('jobs', title='The service of jobs')

DEFAULTS = JobSettings()
LIMITS = JobLimits()
POLICIES = ('flexible', 'rigid', 'easy', 'conservative', 'fair_tree', 'tender')
"""All but `value`: what owners say that a job is worth orders the jobs of others, and nobody pays it."""

OPTIONS = [
    cfg.StrOpt(
        'name',
        default='',
        help="""
Name of this service. Services of jobs elect a leader through `[market]coordination_url`. Empty = `jobs.` and
the host's name.
""",
    ),
    cfg.FloatOpt(
        'interval',
        default=5.0,
        min=1.0,
        max=3600.0,
        help="""
Seconds between two passes. In each pass the service reads the hosts and servers of the cloud, starts jobs,
carries out what is ordered, and creates and deletes workers. A short interval lets jobs start sooner after
others have ended and costs more requests to Nova.
""",
    ),
    cfg.StrOpt(
        'worker_url',
        default='',
        help="""
URL of the market API as workers reach it from inside their servers, for example
`https://market.example.org:9654`. Required: without it no worker could call. While this URL does not answer
to the service itself, no worker is declared lost for its silence.
""",
    ),
    cfg.StrOpt(
        'worker_user',
        default='',
        help="""
User of the image whom jobs run as. Empty: each job has a uid of its own, from 70000 to 99999, which no user
of an image may have. Set it where jobs need the groups of a user. It must exist in the images of all queues,
and nothing else may run as this user: all its processes are ended, and its files in `/tmp`, `/var/tmp` and
`/dev/shm` are removed, after each job.
""",
    ),
    cfg.StrOpt(
        'worker_certificates',
        default='',
        help="""
File with the certificates (PEM) that the API at `worker_url` is checked with, where images do not have them.
They are put into each worker, at most about 10 KB. Empty = those of the image.
""",
    ),
    cfg.FloatOpt(
        'poll',
        default=5.0,
        min=1.0,
        max=600.0,
        help="""
Seconds between two requests of an idle worker for a job. Each is one short request to the API. The API and
the service must have the same value.
""",
    ),
    cfg.FloatOpt(
        'heartbeat',
        default=10.0,
        min=1.0,
        max=600.0,
        help="""
Seconds between two heartbeats of a worker that runs a job; orders (cancel, preempt) reach it with the
answers. The API and the service must have the same value.
""",
    ),
    cfg.IntOpt(
        'missed',
        default=6,
        min=2,
        max=1000,
        help="""
Heartbeats in a row that a worker may miss. Then it is lost: its server is deleted, and its job is run again
or has failed. `heartbeat` times `missed` must be longer than a live migration of a worker stops it.
""",
    ),
    cfg.FloatOpt(
        'start_timeout',
        default=900.0,
        min=10.0,
        max=86_400.0,
        help="""
Seconds in which a new worker must call, counted from the order to start it. It has to boot in this time. Also
the time in which a server must be suspended, shelved or brought back.
""",
    ),
    cfg.FloatOpt(
        'margin',
        default=15.0,
        min=1.0,
        max=3600.0,
        help="""
Seconds after the end of a notice or of a time limit, before the service ends a job itself by deleting its
worker. The worker ends it in time when it can.
""",
    ),
    cfg.FloatOpt(
        'first_pause',
        default=30.0,
        min=1.0,
        max=86_400.0,
        help="""
Seconds before a job whose workers could not be created is started again. Each further failure doubles the
pause. The queue's other workers wait for as long.
""",
    ),
    cfg.FloatOpt(
        'longest_pause',
        default=1800.0,
        min=1.0,
        max=86_400.0,
        help='Longest pause in seconds; see first_pause.',
    ),
    cfg.FloatOpt(
        'settle_time',
        default=120.0,
        min=1.0,
        max=86_400.0,
        help="""
Seconds in which a worker may still appear after a request to create it that got no response. In that time no
other one is requested in its place. A value below twice `[openstack]timeout` is raised to that.
""",
    ),
    cfg.StrOpt(
        'host_choice',
        default=str(HostChoice.FIRST_FIT),
        choices=[
            (str(HostChoice.FIRST_FIT), 'the first host by name that has room, as in the paper'),
            (
                str(HostChoice.BEST_FIT),
                'the host with the least cores left: keeps room for wide jobs',
            ),
        ],
        help="""
On which host the plan of a pass puts a server. Nova chooses the host in the end: a queue's owner may not name
one. The plan must only be right about whether there is room.
""",
    ),
    cfg.StrOpt(
        'preempt_order',
        default=str(PreemptOrder.NEWEST),
        choices=[
            (str(PreemptOrder.NEWEST), 'the job that was started last: it has least to lose'),
            (str(PreemptOrder.OLDEST), 'the job that was started first'),
            (str(PreemptOrder.LEAST_LOST), 'fewest core-seconds since its start or checkpoint'),
        ],
        help='Which best-effort jobs are preempted first when a production job needs their room.',
    ),
    cfg.IntOpt(
        'reservations_per_queue',
        default=DEFAULTS.reservations_per_queue,
        min=0,
        max=1000,
        help="""
Jobs of each queue that have a reservation under the policy `conservative`, and for which an expected start is
computed under any policy.
""",
    ),
    cfg.IntOpt(
        'most_reservations',
        default=DEFAULTS.most_reservations,
        min=0,
        max=10_000,
        help="""
Reservations of all queues together in one pass. Each takes about half a millisecond with 1,000 hosts.
""",
    ),
    cfg.IntOpt(
        'most_looks',
        default=DEFAULTS.most_looks,
        min=0,
        max=10_000,
        help="""
Jobs in one pass for which it is looked up whether they would delay a reservation (policies `easy` and
`conservative`). A look takes as long as a reservation. With a small value, fewer jobs are backfilled in a
pass.
""",
    ),
    cfg.ListOpt(
        'policies',
        default=list(POLICIES),
        help="""
Policies that owners may choose for their queues, names of installed plug-ins of `nova_market.job_policy`.
Production jobs of a queue with another policy wait with that reason until its owner chooses one of these.
Shares bind long jobs under all of them. Add `value` only where all who submit may be trusted to state what
jobs are worth: it orders jobs by that, and nobody pays it. The API and the service must have the same value.
""",
    ),
    cfg.IntOpt(
        'max_short_below',
        default=LIMITS.max_short_below,
        min=0,
        max=MAX_TIME_LIMIT,
        help="""
Longest time limit in seconds of a short job, whatever the owner of its queue has set (`short_below`). Short
jobs may exceed the share of their queue where there is room, so this is for how long a queue can keep what is
above its share. 0 = shares bind all jobs. Lower it where wide jobs wait for narrow ones of others. The API
and the service must have the same value.
""",
    ),
    cfg.IntOpt(
        'max_notice',
        default=LIMITS.max_notice,
        min=0,
        max=MAX_TIME_LIMIT,
        help="""
Longest notice of a job in seconds, from the order to end until its server is taken from it. A production job
waits for the notices of the best-effort jobs that it displaces. Raise it where checkpoints take longer to
write. A queue may have a lower limit. Beyond the time limit of its job a notice is 10 s at most. The API and
the service must have the same value.
""",
    ),
    cfg.IntOpt(
        'max_least_run_time',
        default=LIMITS.max_least_run_time,
        min=0,
        max=MAX_TIME_LIMIT,
        help="""
Longest time in seconds, counted from its start, for which a best-effort job may refuse to be preempted. A
production job may have to wait for so long, and for a notice. Raise it where jobs take long to begin useful
work. A queue may have a lower limit. The API and the service must have the same value.
""",
    ),
    cfg.IntOpt(
        'max_retries',
        default=LIMITS.max_retries,
        min=0,
        max=100,
        help="""
Largest number of further attempts of a job whose workers are lost. Each takes a server for as long as it
runs. Raise it where hosts fail often. A queue may have a lower limit. The API and the service must have the
same value.
""",
    ),
    cfg.StrOpt(
        'metrics_address',
        default='127.0.0.1',
        help='Address of the Prometheus endpoint.',
    ),
    cfg.PortOpt(
        'metrics_port',
        default=0,
        help='TCP port of the Prometheus endpoint, for example 9656; 0 = none.',
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTIONS)]
