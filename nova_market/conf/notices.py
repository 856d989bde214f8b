# SPDX-License-Identifier: Apache-2.0
"""Options of group [notices]: mail and webhooks, and the service that sends them."""

from oslo_config import cfg

GROUP = cfg.OptGroup('notices', title='Notices by mail and to webhooks')

SERVICE = [
    cfg.StrOpt(
        'name',
        default='',
        help="""
Name of this service. Services of notices elect a leader through `[market]coordination_url`. Empty =
`notices.` and the host's name.
""",
    ),
    cfg.FloatOpt(
        'interval',
        default=5.0,
        min=0.1,
        max=600.0,
        help='Seconds between two passes. A notice is sent at most so much later than it could be.',
    ),
    cfg.FloatOpt(
        'give_up',
        default=86_400.0,
        min=60.0,
        max=30 * 86_400.0,
        help="""
Seconds for which a message is tried again, at first after 30 s, later every 15 minutes. Then it is given up,
with a line in the log.
""",
    ),
    cfg.IntOpt(
        'workers',
        default=9,
        min=1,
        max=64,
        help="""
Messages that are sent at the same time: a third by mail, a third to hosts that answer quickly, and a third to
all other hosts, at least one each. More of them help when webhooks on many hosts answer slowly.
""",
    ),
    cfg.IntOpt(
        'max_per_hour',
        default=60,
        min=1,
        max=10_000,
        help="""
The most messages an hour that a user may ask for, on each channel. What happens beyond them is in the last
message of the hour. The API must have the same value.
""",
    ),
]

MAIL = [
    cfg.ListOpt(
        'mail_domains',
        default=[],
        help="""
Domains that mail may go to: patterns as of a shell, for example `example.org,*.example.org`, or `*` for all.
Empty = no mail is sent. An address gets nothing but one code before its user has confirmed it by that code.
The API must have the same value.
""",
    ),
    cfg.IntOpt(
        'max_codes',
        default=3,
        min=1,
        max=100,
        help="""
The most codes that are sent to one address, and for one user, within a day. The API reads this.
""",
    ),
    cfg.StrOpt(
        'mail_from',
        default='nova-market@localhost',
        help='Address that mail is sent from.',
    ),
    cfg.StrOpt(
        'subject_prefix',
        default='[market]',
        help='What subjects of mail begin with. Empty = nothing.',
    ),
    cfg.StrOpt('smtp_host', default='localhost', help='Mail server.'),
    cfg.PortOpt(
        'smtp_port',
        default=587,
        help='Port of the mail server: 587 with `starttls`, 465 with `tls`.',
    ),
    cfg.StrOpt(
        'smtp_security',
        default='starttls',
        choices=[
            ('starttls', 'TLS begins after the greeting; a server without it is refused'),
            ('tls', 'TLS from the first byte'),
            ('none', 'no encryption: only for a mail server on this machine'),
        ],
        help="How the connection is protected. The server's certificate is always checked.",
    ),
    cfg.StrOpt(
        'smtp_cafile',
        default='',
        help="CA certificates, in PEM, that the mail server's is checked with. Empty = the system's.",
    ),
    cfg.StrOpt('smtp_user', default='', help='User at the mail server. Empty = none.'),
    cfg.StrOpt(
        'smtp_password_file',
        default='',
        help="""
File whose first line is the password of `smtp_user`. It is read at each connection, so a changed password
needs no restart. Only the service's user should be able to read it.
""",
    ),
    cfg.FloatOpt(
        'smtp_timeout',
        default=20.0,
        min=1.0,
        max=300.0,
        help='Seconds that the mail server may take for each answer.',
    ),
]

WEBHOOK = [
    cfg.ListOpt(
        'webhook_hosts',
        default=[],
        help="""
Hosts that webhooks may be on: patterns of their names as of a shell, for example `*.example.org`, or `*` for
all. Empty = no webhooks. The API must have the same value.
""",
    ),
    cfg.ListOpt(
        'webhook_networks',
        default=[],
        help="""
Networks, as `10.1.0.0/16`, whose addresses webhooks may have besides the public ones. Whoever may name a URL
makes this service send requests there: leave out the networks of the controllers.
""",
    ),
    cfg.StrOpt(
        'webhook_cafile',
        default='',
        help="CA certificates, in PEM, that webhooks' are checked with. Empty = the system's.",
    ),
    cfg.FloatOpt(
        'webhook_timeout',
        default=10.0,
        min=1.0,
        max=120.0,
        help='Seconds that a request to a webhook may take in all.',
    ),
]


OPTIONS = [*SERVICE, *MAIL, *WEBHOOK]


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTIONS)]
