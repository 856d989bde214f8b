# SPDX-License-Identifier: Apache-2.0
"""Quotas that somebody has written down."""

from collections.abc import Mapping, Sequence

from nova_market.adapters.openstack.quotas import Quota
from nova_market.core.resource import OwnerId
from nova_market.errors import QuotaUnavailable


class StaticQuotas:
    """Quotas that somebody has written down: a fake for tests. Implements ports.QuotaSource."""

    def __init__(self, quotas: Mapping[OwnerId, Quota]) -> None:
        """The mapping is read at each call, so it may change; available = False is a cloud that is down."""
        self.available = True
        self._quotas = quotas

    def quotas(self, owners: Sequence[OwnerId]) -> Mapping[OwnerId, Quota]:
        if not self.available:
            raise QuotaUnavailable('the quotas were made unavailable; set available to True')
        return {owner: self._quotas[owner] for owner in owners if owner in self._quotas}
