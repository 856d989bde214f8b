# SPDX-License-Identifier: Apache-2.0
"""The account of group [openstack], acting through trusts that owners of applications gave it.

Units: seconds. One HTTP session for all trusts; each has a token of its own, which is kept while it is good.
A trust that is not good is tried ever less often, because Keystone checks a password each time.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any
from urllib.parse import quote

from keystoneauth1 import adapter, loading
from keystoneauth1 import exceptions as keystone_errors
from keystoneauth1.identity.base import BaseIdentityPlugin
from keystoneauth1.session import Session
from oslo_config import cfg

from nova_market.adapters.openstack.answers import FAILURES, described, unavailable
from nova_market.adapters.openstack.session import (
    GROUP,
    EndpointFilter,
    endpoint_filter,
    session_from_conf,
)
from nova_market.errors import (
    AccessLost,
    CloudAway,
    ConfigurationError,
    TrustGone,
)

KEPT = 1000
"""Trusts whose tokens are kept; an application's is asked for every few seconds."""

FIRST_PAUSE, LONGEST_PAUSE = 30.0, 600.0
"""Before a trust that was not good is tried again; each pause is twice as long as the one before."""

SCOPE = frozenset(
    {
        'project_id', 'project_name', 'project_domain_id', 'project_domain_name', 'tenant_id',
        'tenant_name', 'domain_id', 'domain_name', 'system_scope', 'trust_id',
    }
)  # fmt: skip
"""Options for the scope of a token: the scope is the trust, and no other may be given with it."""

NOT_GOOD = (401, 403, 404)

VERSIONS = {
    'compute': ('2.1', '2.latest'),
    'identity': ('3.0', '3.latest'),
    'image': ('2.0', '2.latest'),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lost:
    """A trust that was not good."""

    until: float
    pause: float
    gone: bool
    why: str


class TrustSessions:
    """For one thread."""

    def __init__(
        self,
        session: Session,
        log_in: Callable[[str | None], BaseIdentityPlugin],
        where: EndpointFilter,
    ) -> None:
        """log_in: makes what gets tokens of a trust, or of none; where: in the catalog."""
        self._session = session
        self._log_in = log_in
        self._where = where
        self._known: OrderedDict[str, BaseIdentityPlugin] = OrderedDict()
        self._lost: OrderedDict[str, _Lost] = OrderedDict()
        self._account: BaseIdentityPlugin | None = None

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, needed_by: str) -> 'TrustSessions':
        """With the account of group [openstack]; nothing is connected yet.

        :raises ConfigurationError: the account is not complete, or it is of a kind that no trust can name.
        """
        session = session_from_conf(conf, needed_by)
        group = conf[GROUP].auth_section or GROUP
        loader: Any = loading.get_plugin_loader(conf[group].auth_type)
        # an application credential and a token are bound to one project
        if not {'trust_id', 'password'} <= {option.dest for option in loader.get_options()}:
            raise ConfigurationError(
                f'[{group}]auth_type = {conf[group].auth_type}: {needed_by} acts through trusts, which '
                'need an account with a password; set auth_type = password'
            )

        def log_in(trust_id: str | None) -> BaseIdentityPlugin:
            def value(option: Any) -> Any:
                if option.dest in SCOPE:
                    return trust_id if option.dest == 'trust_id' else None
                return conf[group][option.dest]

            plugin: BaseIdentityPlugin = loader.load_from_options_getter(value)
            return plugin

        return cls(session, log_in, endpoint_filter(conf))

    def of(self, trust_id: str, service: str) -> adapter.Adapter:
        """Requests to a service as the owner.

        :raises AccessLost, TrustGone: the trust is not good. :raises CloudUnavailable, CloudAway: no answer.
        """
        lost = self._lost.get(trust_id)
        if lost is not None and monotonic() < lost.until:
            raise (TrustGone if lost.gone else AccessLost)(lost.why)
        plugin = self._known.pop(trust_id, None) or self._log_in(trust_id)
        self._known[trust_id] = plugin
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        try:
            plugin.get_access(self._session)
        except keystone_errors.HttpError as error:
            if error.http_status not in NOT_GOOD:
                raise unavailable(error) from None
            why = f'trust {trust_id}: {error.message!s:.200}'
            gone = self._lose(trust_id, why)
            raise (TrustGone if gone else AccessLost)(why) from None
        except FAILURES as error:
            raise unavailable(error) from None
        self._lost.pop(trust_id, None)
        least, most = VERSIONS.get(service, (None, None))
        return adapter.Adapter(
            self._session,
            auth=plugin,
            service_type=service,
            min_version=least,
            max_version=most,
            raise_exc=False,
            **self._where,
        )

    def forget(self, trust_id: str) -> None:
        """It is deleted."""
        self._known.pop(trust_id, None)
        self._lost.pop(trust_id, None)

    def _lose(self, trust_id: str, why: str) -> bool:
        """It is not good now; is it gone? The next try is later than the last pause was long."""
        gone = not self._is_there(trust_id)
        before = self._lost.pop(trust_id, None)
        pause = min(2.0 * before.pause, LONGEST_PAUSE) if before else FIRST_PAUSE
        self._lost[trust_id] = _Lost(until=monotonic() + pause, pause=pause, gone=gone, why=why)
        while len(self._lost) > KEPT:
            self._lost.popitem(last=False)
        return gone

    def _is_there(self, trust_id: str) -> bool:
        """Whether a trust that gives no token may give one again; Keystone's refusal does not show that.

        One that is gone is a 401, as one whose project is disabled and as a wrong password. Whom it is given
        to may read it.

        :raises CloudAway: the account gets no token at all, so nothing is known of any trust.
        """
        account = self._account = self._account or self._log_in(None)
        base = str(account.auth_url).rstrip('/').removesuffix('/v3')
        url = f'{base}/v3/OS-TRUST/trusts/{quote(trust_id, safe="")}'
        try:
            account.get_access(self._session)
            answer = self._session.request(url, 'GET', auth=account, raise_exc=False)
        except FAILURES as error:
            raise CloudAway(
                f'the account of group [{GROUP}] is not let in: {described(error)}'
            ) from None
        return bool(answer.status_code != 404)
