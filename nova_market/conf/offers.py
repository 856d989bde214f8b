# SPDX-License-Identifier: Apache-2.0
"""Options of group [offers]: how the API makes offers for jobs, and which other regions it asks."""

import re
from urllib.parse import urlsplit

from oslo_config import cfg

from nova_market.core.tender.region_answer import NAME
from nova_market.errors import ConfigurationError

MOST_CHILDREN = 32

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
        'of the queue at once, and does not come back. 0 = nothing: a '
        'project then holds one offer of each queue at a time, and each offer once.',
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
    cfg.StrOpt(
        'region',
        default='',
        help='Name of the region of this API in the catalog of Keystone. Each offer has it, and is accepted '
        'there. It has to be set where other regions are asked, and where others ask this one. Empty = '
        '[openstack]region_name.',
    ),
    cfg.ListOpt(
        'children',
        default=[],
        help='Regions that are asked too when somebody asks this API for offers, at most 32: names in the '
        'catalog of the same Keystone, such as RegionTwo, or NAME=URL where the API is asked at another '
        'address than in the catalog. They are asked with the application credential of group [regions], '
        'which is good for that alone. Each request costs one thread for each region.',
    ),
    cfg.FloatOpt(
        'child_timeout',
        default=2.0,
        min=0.05,
        max=60,
        help='Seconds for which the answers of other regions are waited for. All are asked at once; one that '
        'does not answer is left out, and the answer says so. A region that is asked by another '
        'one waits for three quarters of that at most for those below it.',
    ),
    cfg.IntOpt(
        'depth',
        default=3,
        min=1,
        max=10,
        help='Largest number of levels of regions, the first one included: deeper ones are not asked.',
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTIONS)]


def region_of(conf: cfg.ConfigOpts) -> str:
    """Name of the region of this API; '' when it has none.

    :raises ConfigurationError: it is no name.
    """
    name = str(conf.offers.region or conf.openstack.region_name or '')
    if name and not re.fullmatch(NAME, name):
        raise ConfigurationError(
            f'[offers]region = {name:.80}: give at most 64 letters, digits, dots, _ and -'
        )
    return name


def children_of(conf: cfg.ConfigOpts) -> dict[str, str | None]:
    """Regions that are asked, and where; None: as in the catalog.

    :raises ConfigurationError: names the entry.
    """
    found: dict[str, str | None] = {}
    own = region_of(conf)
    entries = conf.offers.children
    if entries and not own:
        raise ConfigurationError('[offers]children is set and [offers]region is not: set it')
    if len(entries) > MOST_CHILDREN:
        raise ConfigurationError(
            f'[offers]children has {len(entries)} regions: give at most {MOST_CHILDREN}'
        )
    for entry in entries:
        name, given, url = entry.partition('=')
        where = f'[offers]children: {entry:.120}'
        if not re.fullmatch(NAME, name):
            raise ConfigurationError(f'{where}: give NAME or NAME=URL, a name as [offers]region')
        if name in found or name == own:
            raise ConfigurationError(f'{where}: this region, or named twice: leave it out')
        if given and (urlsplit(url).scheme not in {'http', 'https'} or not urlsplit(url).netloc):
            raise ConfigurationError(f'{where}: give a URL that begins with http:// or https://')
        found[name] = url.rstrip('/') or None
    return found
