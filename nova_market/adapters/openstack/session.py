# SPDX-License-Identifier: Apache-2.0
"""Sessions and connections with the account of group [openstack]."""

from collections.abc import Callable
from typing import TypedDict

from keystoneauth1 import exceptions as keystone_errors
from keystoneauth1 import loading
from keystoneauth1.session import Session
from openstack import connection
from oslo_config import cfg

from nova_market.adapters.openstack.answers import translated
from nova_market.errors import CloudUnavailable, ConfigurationError

GROUP = 'openstack'

REQUEST_SECONDS = 10.0
"""Time limit of one request where [openstack]timeout sets none; keystoneauth would wait for ever."""


class EndpointFilter(TypedDict):
    """Which endpoints of the catalog are used, as keystoneauth's keywords."""

    interface: str
    region_name: str | None


def session_from_conf(conf: cfg.ConfigOpts, needed_by: str) -> Session:
    """A session with the account of group [openstack]; nothing is connected yet.

    needed_by: the option or service that can't do without, for the message.

    :raises ConfigurationError: the account is not complete.
    """
    try:
        auth = loading.load_auth_from_conf_options(conf, GROUP)
        if auth is None:
            raise ConfigurationError(
                f'[{GROUP}]auth_type is not set; {needed_by} needs an account '
                '(auth_type = password, auth_url, username, ...)'
            )
        session: Session = loading.load_session_from_conf_options(
            conf, GROUP, auth=auth, timeout=conf[GROUP].timeout or REQUEST_SECONDS
        )
    except keystone_errors.ClientException as error:
        raise ConfigurationError(f'[{GROUP}]: {error}') from None
    except ValueError as error:  # certfile and keyfile belong together
        raise ConfigurationError(f'[{GROUP}]: {error}') from None
    return session


def endpoint_filter(conf: cfg.ConfigOpts) -> EndpointFilter:
    options = conf[GROUP]
    interfaces = options.valid_interfaces or ['public']
    return EndpointFilter(interface=interfaces[0], region_name=options.region_name)


def identity_url(conf: cfg.ConfigOpts, session: Session) -> Callable[[], str]:
    """Asks the catalog for the address of Keystone, without version.

    What is returned raises CloudUnavailable where the catalog has none.
    """
    wanted = endpoint_filter(conf)

    def where() -> str:
        found = session.get_endpoint(service_type='identity', **wanted)
        if not found:
            raise CloudUnavailable(f'the catalog has no {wanted["interface"]} endpoint of identity')
        return str(found).rstrip('/').removesuffix('/v3')

    return where


def connector(conf: cfg.ConfigOpts, needed_by: str) -> Callable[[], connection.Connection]:
    """Makes connections with that account.

    :raises ConfigurationError: the account is not complete.
    """
    session = session_from_conf(conf, needed_by)

    def connect() -> connection.Connection:
        return connection.Connection(
            session=session,
            compute_endpoint_override=conf[GROUP].endpoint_override,
            **endpoint_filter(conf),
        )

    return connect


def check_account(conf: cfg.ConfigOpts) -> None:
    """Ask Keystone for a token with that account.

    :raises ConfigurationError: the account is not complete.
    :raises CloudUnavailable: Keystone gives none.
    """
    session = session_from_conf(conf, 'the market engine')
    with translated():
        session.get_token()
