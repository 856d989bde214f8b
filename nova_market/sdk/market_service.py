# SPDX-License-Identifier: Apache-2.0
"""The market as a service of openstacksdk.

    conn = openstack.connect(cloud='mycloud', vendor_hook='nova_market.sdk.market_service:load')
    conn.market.account()

The hook can be named in clouds.yaml too (`vendor_hook:`), and a connection that is there already takes the
service by `load(conn)`.
"""

from openstack import service_description
from openstack.connection import Connection

from nova_market.sdk.v1 import _proxy

SERVICE_TYPE = 'market'


class MarketService(service_description.ServiceDescription):  # type: ignore[type-arg]
    """Finds the API in the catalog; one proxy per major version."""

    supported_versions = {'1': _proxy.Proxy}  # noqa: RUF012 (the base class declares it so)


def load(conn: Connection) -> None:
    """Give a connection the attribute `market`."""
    conn.add_service(MarketService(service_type=SERVICE_TYPE))
