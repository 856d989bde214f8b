# SPDX-License-Identifier: Apache-2.0
"""Where the sessions on bags run: as those on jobs, on one host of two cores.

Step: `the bags negotiate`: as the service of jobs does at the end of a pass. Others: job_stage.
"""

from dataclasses import replace

from nova_market.core.job.forecast import document_of
from nova_market.core.job.queue import StoredQueue
from nova_market.db.bag_steps import DatabaseBags
from nova_market.services.job.forecasting import STATE
from nova_market.services.tender.bags import Bags, BagSettings, BagStores
from nova_market.services.tender.offers import OfferSettings, OfferStores
from nova_market.services.tender.settling import OfferSettling
from nova_market.wiring.policies import utilities
from tests.support.documentation.job_stage import Jobs
from tests.support.job_records import id_of
from tests.support.offer_builders import forecast
from tests.support.standing import everybody, standings


class BagsOfTasks(Jobs):
    """The queue `render` of the pages on jobs, and room for two small servers."""

    accepted = True

    def step(self, text: str) -> None:
        if text != 'the bags negotiate':
            super().step(text)
            return
        stores, clock = self.service.market.stores, self.bed.clock
        queues = {one.id: one for one in stores.queues.queues()}
        self._publish(queues)
        boundary = self.bed.database.boundary
        OfferSettling(stores.offers, stores.ledger, boundary).settle(queues)
        offers = OfferStores(
            offers=stores.offers, queues=stores.queues, accounts=stores.accounts,
            flavors=stores.flavors, wall=clock.wall,
        )  # fmt: skip
        bags = BagStores(
            bags=DatabaseBags(self.bed.database, clock.wall),
            jobs=stores.jobs,
            ledger=stores.ledger,
            offers=offers,
        )
        settings = BagSettings(offers=OfferSettings(utilities=utilities()))
        who = standings(everybody(), clock)
        Bags(bags, settings, clock.monotonic, boundary, standings=who).turn()

    def _publish(self, queues: dict[str, StoredQueue]) -> None:
        """Both cores are free, or taken by the tasks that run."""
        now = self.bed.clock.wall()
        seen = forecast(at=now, cores=(2.0,))
        (queue,) = queues
        found = replace(seen, queues={queue: seen.queues[id_of('night')]})
        self.service.market.stores.states.write(STATE, document_of(found))
