# SPDX-License-Identifier: Apache-2.0
"""The plug-in `zmq` of nova_market.exchange: a ZeroMQ transport as group [exchange] says."""

from collections.abc import Callable, Mapping

from oslo_config import cfg

from nova_market.adapters.curve_keys import KeyDirectory
from nova_market.adapters.zmq_transport import ZmqTransport
from nova_market.core.quantity import HostName


def zmq_transport(
    *,
    conf: cfg.ConfigOpts,
    host: HostName,
    ttl: float,
    addresses: Callable[[], Mapping[HostName, str]],
) -> ZmqTransport:
    """A transport that is not started, always with keys.

    :raises ConfigurationError: an option that can't work.
    """
    del ttl  # frames are kept by number, not by age
    keys = KeyDirectory(conf.exchange.zmq_key_path, host)
    return ZmqTransport(host, conf.exchange.zmq_bind, addresses, keys)
