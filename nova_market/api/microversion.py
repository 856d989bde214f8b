# SPDX-License-Identifier: Apache-2.0
"""Which version of the API a request asks for: header `OpenStack-API-Version: market 1.N`.

A change that a client could notice gets a new minor version here, and a line in doc/source/api/index.rst.
"""

import re
from dataclasses import dataclass

from nova_market.api.errors import ApiError
from nova_market.core.service_type import SERVICE_TYPE

HEADER = 'OpenStack-API-Version'
MAJOR = 1
MIN_MINOR = 1
MAX_MINOR = 17
FORM = re.compile(r'(\d{1,3})\.(\d{1,6})', re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """`1.minor`."""

    minor: int

    def __str__(self) -> str:
        return f'{MAJOR}.{self.minor}'


LOWEST, NEWEST = Version(MIN_MINOR), Version(MAX_MINOR)
APPS = Version(2)
DRAINING = Version(3)
RESTING = Version(3)
JOBS = Version(4)
OFFERS = Version(5)
TENDER = Version(6)
BAGS = Version(7)
LEASES = Version(8)
REGIONS = Version(9)
CLEARING_PRICES = Version(10)
NOTICES = Version(11)
LEASE_OFFERS = Version(12)
OWN_WORKERS = Version(13)
SET_ASIDE = Version(14)
LIMITS = Version(15)
STOPPED_NOTICES = CLAIMS = Version(16)
PARTIAL_BIDS = SUGGESTIONS = CHECKED_APPS = OWN_ACCOUNTS = Version(17)
SUMS = NEWEST_FIRST = QUOTED_PRICES = PROJECT_TARGETS = Version(17)


def requested(header: str | None) -> Version:
    """The version in a header; without one for this service the lowest.

    :raises ApiError: 400 for what is no version, 406 for one that is not served.
    """
    for part in (header or '').split(','):
        service, _, text = part.strip().partition(' ')
        if service.lower() != SERVICE_TYPE:
            continue
        text = text.strip()
        if text == 'latest':
            return NEWEST
        found = FORM.fullmatch(text)
        if found is None:
            raise ApiError(
                400,
                'market.version.malformed',
                f'{HEADER} is {part.strip()!r:.80}: '
                f'give "{SERVICE_TYPE} {NEWEST}" or "{SERVICE_TYPE} latest"',
            )
        major, minor = int(found[1]), int(found[2])
        if major != MAJOR or not MIN_MINOR <= minor <= MAX_MINOR:
            raise ApiError(
                406,
                'market.version.unsupported',
                f'version {major}.{minor} is not served: give {LOWEST} to {NEWEST}',
                min_version=str(LOWEST),
                max_version=str(NEWEST),
            )
        return Version(minor)
    return LOWEST
