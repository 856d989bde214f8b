# SPDX-License-Identifier: Apache-2.0
"""By which names a host and a service on it are known to the others."""

import socket

from oslo_config import cfg


def host_name(conf: cfg.ConfigOpts) -> str:
    """Option [host]name; without it what the machine calls itself."""
    return str(conf.host.name or socket.gethostname())


def service_name(conf: cfg.ConfigOpts, group: str, service: str) -> str:
    """Option `name` of the group; without it the service and its host, as engine.controller1."""
    return str(conf[group].name or f'{service}.{host_name(conf)}')
