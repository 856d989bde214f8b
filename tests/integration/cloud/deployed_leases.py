# SPDX-License-Identifier: Apache-2.0
"""The services of leases on the cloud in a box: the API, two services, and what they book on real hosts."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from nova_market.experiments.guests.service_process import Daemon
from tests.integration.cloud.conftest import Cloud
from tests.integration.cloud.deployed_market import ENGINES, MarketBed
from tests.integration.cloud.waiting import until

SERVICES = ('leases.one', 'leases.two')
INTERVAL = 2.0
SETTINGS = {
    'interval': INTERVAL,
    'lost_after': 6,
    'end_notice': 20,
    'freeze': 30,
    'charge_period': 60,
    'price_core_hour': 3600,
    'price_memory_gib_hour': 0,
    'price_disk_gib_hour': 0,
}


class LeasesBed:
    """The API and the services of leases. more: options of the services, by group"""

    def __init__(
        self,
        cloud: Cloud,
        environment: Mapping[str, str],
        directory: Path,
        more: Mapping[str, Mapping[str, object]] | None = None,
    ) -> None:
        self.cloud = cloud
        self.market = MarketBed(cloud, environment, directory)
        self.market.api.options = {**self.market.options(), 'leases': SETTINGS}
        self.services = {
            name: Daemon(
                'leases',
                directory / name,
                {
                    **self.market.options(),
                    'leases': {**SETTINGS, 'name': name},
                    **(more or {}),
                },
            )
            for name in SERVICES
        }

    def start(self) -> None:
        self.market.make_tables()
        self.market.api.launch()
        # an engine: what the scheduler reads comes with its rounds
        self.market.engines[ENGINES[0]].launch()
        until(self.market.answers)
        for service in self.services.values():
            service.launch()

    def close(self) -> None:
        for service in self.services.values():
            service.stop()
        self.market.close()


@contextmanager
def leases_bed(
    cloud: Cloud,
    environment: Mapping[str, str],
    directory: Path,
    more: Mapping[str, Mapping[str, object]] | None = None,
) -> Iterator[LeasesBed]:
    """A bed that runs."""
    made = LeasesBed(cloud, environment, directory, more)
    try:
        made.start()
        yield made
    finally:
        made.close()
