# SPDX-License-Identifier: Apache-2.0
"""What users may ask for of notices, from group [notices]."""

from oslo_config import cfg

from nova_market.services.notice.settings import NoticeLimits


def notice_limits(conf: cfg.ConfigOpts) -> NoticeLimits:
    """The settings of the API."""
    options = conf.notices
    return NoticeLimits(
        mail_domains=tuple(options.mail_domains),
        webhook_hosts=tuple(options.webhook_hosts),
        max_per_hour=options.max_per_hour,
        max_codes=options.max_codes,
    )
