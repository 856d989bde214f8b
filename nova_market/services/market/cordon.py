# SPDX-License-Identifier: Apache-2.0
"""Closes crowded hosts to market servers, fleet-wide, by a trait that is ours alone.

Nova sends a flavor's traits with every request but a rebuild, so servers that exist cannot be moved or
evacuated to a closed host either.

The trait is set and taken away by the leader after each round, a few hosts at a time, and taken away
everywhere when this is switched off. What is closed is read from Placement, so engines need not agree.

Placement answers 400 to a request that forbids a trait it does not know, so a server of such a flavor would
find no host: its name is made before any host is closed, and is left when no host is.
"""

import logging
from dataclasses import dataclass

import numpy as np

from nova_market.core.rebalancing.cordon import closed_hosts, cordon_plan, host_loads
from nova_market.core.resource import HostName
from nova_market.errors import CloudUnavailable
from nova_market.outage_log import OutageLog
from nova_market.ports import ProviderTraits
from nova_market.services.market.rounds import Decided

LOG = logging.getLogger(__name__)

AT_ONCE = 10
"""Hosts that change in one round: each takes a few requests, and the engine waits for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeringSettings:
    """As the options of group [steering]."""

    traits: bool = False
    close_above: float = 1.25
    open_below: float = 1.0


class Steering:
    """For the engine's thread. Remembers only whether it has announced the trait, or cleaned up."""

    def __init__(self, traits: ProviderTraits, settings: SteeringSettings) -> None:
        self._traits = traits
        self._settings = settings
        self._announced = False
        self._clean = False
        self._outage = OutageLog(
            LOG,
            lost='hosts are not closed or opened now',
            back='hosts are closed and opened again',
        )

    def consider(self, decided: Decided) -> None:
        """After a round that this engine has decided. Raises nothing: rounds go on without."""
        try:
            if self._settings.traits:
                self._steer(decided)
            elif not self._clean:
                self._clean_up()
        except CloudUnavailable as error:
            self._outage.failed(error)
        except Exception:
            LOG.exception('closing and opening hosts failed; rounds go on')
        else:
            self._outage.works()

    def _steer(self, decided: Decided) -> None:
        if not self._announced:
            self._traits.announce()
            self._announced = True
        inputs, settings = decided.inputs, self._settings
        names = [host.name for host in inputs.hosts]
        marked = self._traits.marked()
        snapshot = inputs.snapshot
        before = np.array([name in marked for name in names], dtype=np.bool_)
        after = closed_hosts(
            host_loads(decided.outcome.ideal, snapshot.host, snapshot.capacity),
            before, snapshot.answering, settings.close_above, settings.open_below,
        )  # fmt: skip
        plan = cordon_plan(names, marked, after, AT_ONCE)
        for name in plan.opened:
            self._open(name)
        for name in plan.closed:
            self._traits.mark(name)
            LOG.info('host %s is closed to servers of the market', name)

    def _clean_up(self) -> None:
        left = sorted(self._traits.marked())
        for name in left[:AT_ONCE]:
            self._open(name)
        self._clean = len(left) <= AT_ONCE

    def _open(self, name: HostName) -> None:
        self._traits.unmark(name)
        LOG.info('host %s is open to servers of the market', name)
