# SPDX-License-Identifier: Apache-2.0
"""Which addresses a webhook may have: those of the public internet, and networks that the operator allows.

Whoever may name a URL could else reach what only the controllers reach: databases, metadata, other services.
"""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network

TRANSLATED = (ip_network('64:ff9b::/96'), ip_network('64:ff9b:1::/48'))
"""NAT64 (RFC 6052, RFC 8215): an IPv4 address is within."""


def may_connect(address: str, allowed: Sequence[Network]) -> bool:
    """Whether requests may go to this IP address. allowed: networks besides the public ones."""
    found = _plain(ip_address(address.partition('%')[0]))
    if any(found in network for network in allowed):
        return True
    return found.is_global and not found.is_multicast and not _holds_another(found)


def _holds_another(found: IPv4Address | IPv6Address) -> bool:
    """Whether packets to it may go to an IPv4 address that is written within."""
    if not isinstance(found, IPv6Address):
        return False
    tunnel = bool(found.sixtofour or found.teredo)
    return tunnel or any(found in network for network in TRANSLATED)


def _plain(found: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """An IPv4 address that is written as one of IPv6, as what it is."""
    return (isinstance(found, IPv6Address) and found.ipv4_mapped) or found
