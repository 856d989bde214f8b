# SPDX-License-Identifier: Apache-2.0
"""What a request for offers says, wherever it is asked (rules O1 and O4 of doc/source/specs/tender.rst).

A request has passed the API's schema (OFFER_NEW) already.
"""

import math
from collections.abc import Mapping
from typing import Any

from nova_market.core.tender.utility import Utility
from nova_market.core.text import shown
from nova_market.core.timestamp import seconds
from nova_market.errors import BadOffer, BadTime


def deadline_of(body: Mapping[str, Any]) -> float:
    """Seconds since the epoch; inf: none.

    :raises BadOffer: there is no such day or hour.
    """
    given = body.get('deadline')
    if given is None:
        return math.inf
    try:
        return seconds(given)
    except BadTime as error:
        raise BadOffer(f'deadline: {error}') from None


def utility_name(body: Mapping[str, Any]) -> str:
    """By which the best of several is chosen."""
    return str(body.get('utility', 'cost_time'))


def utility_of(body: Mapping[str, Any], installed: Mapping[str, Utility]) -> tuple[Utility, float]:
    """The utility and its weight.

    :raises BadOffer: it is not installed.
    """
    name = utility_name(body)
    if name not in installed:
        known = ', '.join(sorted(installed))
        raise BadOffer(f'utility: {shown(name)} is not installed: give {known}')
    return installed[name], float(body.get('weight', 0.5))
