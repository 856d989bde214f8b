# SPDX-License-Identifier: Apache-2.0
"""Who leads, of several services of a kind: from [market]coordination_url."""

from oslo_config import cfg

from nova_market.adapters.leadership import LOCK as ENGINE
from nova_market.adapters.leadership import SoleLeader, ToozLeadership
from nova_market.ports import Clock, Leadership

CONTROLLER = b'nova-market-controller'
"""The lock that controllers compete for; engines compete for ENGINE."""

JOBS = b'nova-market-jobs'
"""The lock that services of jobs compete for."""

LEASES = b'nova-market-leases'
"""The lock that services of leases compete for."""

NOTICES = b'nova-market-notices'
"""The lock that services of notices compete for."""

__all__ = ['CONTROLLER', 'ENGINE', 'JOBS', 'LEASES', 'NOTICES', 'leadership']


def leadership(conf: cfg.ConfigOpts, name: str, clock: Clock, lock: bytes) -> Leadership:
    """Without a URL there is one of them, and it leads.

    :raises ConfigurationError: no driver for the URL is installed.
    """
    url = conf.market.coordination_url
    return ToozLeadership(name, url, clock, lock=lock) if url else SoleLeader()
