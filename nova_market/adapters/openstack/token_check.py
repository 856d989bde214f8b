# SPDX-License-Identifier: Apache-2.0
"""Tokens of Keystone, checked by keystonemiddleware.

Public routes have to work without a token, so its decision is delayed to the application; and then it calls a
token invalid when Keystone does not answer. A client would ask for another token and try again, and neither
it nor its user would know why. So that case is answered with 503 here.
"""

from collections.abc import Callable, Iterable
from typing import Any

from keystoneauth1.exceptions import ConnectFailure, DiscoveryFailure, RequestTimeout
from keystonemiddleware.auth_token import AuthProtocol  # type: ignore[import-untyped]
from keystonemiddleware.exceptions import (  # type: ignore[import-untyped]
    KeystoneMiddlewareException,
)
from oslo_config import cfg

from nova_market.core.service_type import SERVICE_TYPE
from nova_market.errors import ConfigurationError

AWAY = (ConnectFailure, DiscoveryFailure, RequestTimeout)
SERVICE_ERROR = 'ServiceError'
"""keystonemiddleware's own, of a private module: Keystone answered, and not with a token."""

Wsgi = Callable[..., Iterable[bytes]]


class TokenCheck(AuthProtocol):  # type: ignore[misc]
    """AuthProtocol that answers 503, and not 401, when Keystone does not answer."""

    def __init__(self, inner: Wsgi, options: dict[str, Any], unavailable: Callable[[], Exception]):
        super().__init__(inner, options)
        self._unavailable = unavailable
        try:
            # else the first request loads it, and each would fail
            self._token_cache.initialize({})
        except ImportError as error:
            raise ConfigurationError(
                f'[keystone_authtoken]memcached_servers: {error}: install python-memcached '
                '(Debian: python3-memcache), or leave the option out'
            ) from error

    def fetch_token(self, *arguments: Any, **named: Any) -> Any:
        try:
            return super().fetch_token(*arguments, **named)
        except KeystoneMiddlewareException as error:
            cause = error.__context__
            if isinstance(cause, AWAY) or type(cause).__name__ == SERVICE_ERROR:
                raise self._unavailable() from None
            raise


def checked_tokens(inner: Wsgi, conf: cfg.ConfigOpts, unavailable: Callable[[], Exception]) -> Wsgi:
    """The application behind the check, as configured in [keystone_authtoken].

    unavailable: makes the response, a WebOb exception, for when Keystone is away

    :raises ConfigurationError: what talks to memcached is not installed.
    """
    options = {
        'oslo_config_config': conf,
        'oslo_config_project': 'nova_market',
        'delay_auth_decision': True,
        # whose access rules count here: of an application credential for one call only
        'service_type': SERVICE_TYPE,
        # beside a service token access rules do not count: not every token is one
        'service_token_roles_required': True,
    }
    made: Wsgi = TokenCheck(inner, options, unavailable)
    return made
