# SPDX-License-Identifier: Apache-2.0
"""Which addresses a webhook may have: those of the public internet, and networks that the operator allows.

Whoever may name a URL could else reach what only the controllers reach: databases, metadata, other services.
"""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network

UNICAST = ip_network('2000::/3')
"""All of IPv6 that is given out as global unicast (RFC 4291, section 2.4, and IANA). Outside are site-local
addresses, and those that hold one of IPv4 (::/96, NAT64)."""


def may_connect(address: str, allowed: Sequence[Network]) -> bool:
    """Whether requests may go to this IP address. allowed: networks besides the public ones."""
    found = _plain(ip_address(address.partition('%')[0]))
    if any(found in network for network in allowed):
        return True
    return found.is_global and not found.is_multicast and _is_unicast(found)


def _is_unicast(found: IPv4Address | IPv6Address) -> bool:
    """Whether packets go to it, and not to an IPv4 address that is written within."""
    if isinstance(found, IPv4Address):
        return not found.is_reserved
    return found in UNICAST and not (found.sixtofour or found.teredo)


def _plain(found: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """An IPv4 address that is written as one of IPv6, as what it is."""
    return (isinstance(found, IPv6Address) and found.ipv4_mapped) or found
