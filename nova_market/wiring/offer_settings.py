# SPDX-License-Identifier: Apache-2.0
"""How offers are made, from group [offers]: by the API, and by the service of jobs for bags of tasks."""

from oslo_config import cfg

from nova_market.conf.offers import region_of
from nova_market.services.tender.offers import OfferSettings
from nova_market.wiring.job_settings import job_limits
from nova_market.wiring.policies import utilities


def offer_settings(conf: cfg.ConfigOpts) -> OfferSettings:
    """From the options."""
    options = conf.offers
    return OfferSettings(
        valid=options.valid,
        most=options.max_open,
        longest_hold=options.longest_hold,
        hold_fee=options.hold_fee,
        late_refund=options.late_refund,
        forecast_age=options.forecast_age,
        region=region_of(conf),
        child_timeout=options.child_timeout,
        depth=options.depth,
        utilities=utilities(),
        limits=job_limits(conf),
    )
