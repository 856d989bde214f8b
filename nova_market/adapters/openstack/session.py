# SPDX-License-Identifier: Apache-2.0
"""Sessions and connections with the account of group [openstack]."""

from collections.abc import Callable

from keystoneauth1 import exceptions as keystone_errors
from keystoneauth1 import loading
from keystoneauth1.session import Session
from openstack import connection
from oslo_config import cfg

from nova_market.errors import ConfigurationError

GROUP = 'openstack'


REQUEST_SECONDS = 10.0
"""Time limit of one request where [openstack]timeout sets none; keystoneauth would wait for ever."""


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


def connector(conf: cfg.ConfigOpts, needed_by: str) -> Callable[[], connection.Connection]:
    """Makes connections with that account.

    :raises ConfigurationError: the account is not complete.
    """
    session = session_from_conf(conf, needed_by)
    options = conf[GROUP]
    interfaces = options.valid_interfaces or ['public']

    def connect() -> connection.Connection:
        return connection.Connection(
            session=session,
            region_name=options.region_name,
            interface=interfaces[0],
            compute_endpoint_override=options.endpoint_override,
        )

    return connect


def token_problem(conf: cfg.ConfigOpts) -> str:
    """Ask Keystone for a token with that account; '' or why there is none.

    :raises ConfigurationError: the account is not complete.
    """
    session = session_from_conf(conf, 'the market engine')
    try:
        session.get_token()
    except (keystone_errors.ClientException, OSError) as error:
        return f'{type(error).__name__}: {str(error)[:200]}'
    return ''
