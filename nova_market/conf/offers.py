# SPDX-License-Identifier: Apache-2.0
"""Options of group [offers]: how the API makes offers for jobs."""

from oslo_config import cfg

GROUP = cfg.OptGroup('offers', title='Offers for jobs')

OPTIONS = [
    cfg.FloatOpt(
        'valid',
        default=300.0,
        min=1,
        max=86_400,
        help='Seconds for which an offer can be accepted. Acceptance computes it again: of older offers '
        'fewer can be honoured.',
    ),
    cfg.IntOpt(
        'max_open',
        default=1000,
        min=1,
        max=100_000,
        help='Largest number of offers of one project that are open or held. Each request counts them.',
    ),
    cfg.FloatOpt(
        'longest_hold',
        default=600.0,
        min=1,
        max=86_400,
        help='Largest number of seconds of a hold, in which nobody else gets an offer for the same room.',
    ),
    cfg.FloatOpt(
        'hold_fee',
        default=0.1,
        min=0,
        max=100,
        help='What a hold costs for each hour, as a part of what the offer costs. It is paid to the project '
        'of the queue at once, and does not come back. 0 = nothing: room is kept from others for free.',
    ),
    cfg.FloatOpt(
        'late_refund',
        default=0.5,
        min=0,
        max=1,
        help='Part of what an accepted job was charged that the project of the queue gives back when the job '
        'is done after twice the promised time; of a smaller delay it is less, in proportion. It holds for '
        'offers that are accepted from then on.',
    ),
    cfg.FloatOpt(
        'forecast_age',
        default=60.0,
        min=1,
        max=3600,
        help='Seconds after which the forecast of nova-market-jobs is too old, and no offers are made. Not '
        'less than a few times [jobs]interval.',
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTIONS)]
