# SPDX-License-Identifier: Apache-2.0
"""Calls ExternalServiceFilter of Blazar as its manager does; run as a program.

    filter_call.py ENDPOINT TOKEN < CALLS

CALLS is a list of {call, context, lease, reservations, allocations} in JSON; of `check_update` also `current`
with the latter three. Writes the list of what the filter raised, null where it raised nothing.
"""

import json
import sys
from datetime import datetime

from blazar.enforcement.enforcement import UsageEnforcement
from blazar.enforcement.exceptions import ExternalServiceFilterException
from blazar.enforcement.filters import ExternalServiceFilter
from oslo_config import cfg

DATES = ('start_date', 'end_date')


def lease_of(given):
    """As the manager hands it on, with dates as it has them."""
    lease = {
        name: datetime.fromisoformat(value) if name in DATES else value
        for name, value in given['lease'].items()
    }
    return UsageEnforcement.format_lease(None, lease, given['reservations'], given['allocations'])


def main():
    """Make all calls."""
    conf = cfg.CONF
    ExternalServiceFilter.register_opts(conf)
    conf([], project='blazar', default_config_files=[])
    conf.set_override('external_service_base_endpoint', sys.argv[1], 'enforcement')
    conf.set_override('external_service_token', sys.argv[2], 'enforcement')
    made = ExternalServiceFilter(conf=conf)
    found = []
    for one in json.load(sys.stdin):
        leases = [lease_of(one['current'])] if 'current' in one else []
        try:
            getattr(made, one['call'])(one['context'], *leases, lease_of(one))
            found.append(None)
        except ExternalServiceFilterException as error:
            found.append(str(error))
    sys.stdout.write(json.dumps(found))


if __name__ == '__main__':
    main()
