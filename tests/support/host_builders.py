# SPDX-License-Identifier: Apache-2.0
"""Short ways to make the values that tests need."""

from nova_market.core.exchange.messages import HostReport
from nova_market.core.host.sample import Counters, Guest, GuestSample, HostSample, HostSupply
from nova_market.core.resource import RESOURCES, GuestId, HostName, OwnerId

MIB = 1024 * 1024


def guest(name: str, owner: str, **changes) -> Guest:
    values = {
        'id': GuestId(name),
        'domain_id': 1,
        'name': name,
        'owner': OwnerId(owner),
        'vcpus': 1,
        'memory_bytes': 128 * MIB,
    }
    return Guest(**(values | changes))


def sample(time: float, *items: tuple[Guest, float], ready=(), **counters) -> HostSample:
    """items: (guest, CPU seconds used since it started); ready: of each, seconds that it ran or waited."""
    waited = [(round(seconds * 1e9),) for seconds in ready] or [()] * len(items)
    return HostSample(
        time=time,
        guests=tuple(
            GuestSample(
                guest=one,
                counters=Counters(
                    **{
                        'cpu_time_ns': round(cpu * 1e9),
                        'rss_bytes': 64 * MIB,
                        'vcpu_ready_ns': seconds,
                        **counters,
                    }
                ),
            )
            for (one, cpu), seconds in zip(items, waited, strict=True)
        ),
    )


def supply(**changes) -> HostSupply:
    return HostSupply(**({'cores': 1.0, 'memory_bytes': 4096 * MIB} | changes))


def report(host: str, owners: dict | None = None, **changes) -> HostReport:
    size = len(RESOURCES)
    values = {
        'host': HostName(host),
        'incarnation': 1,
        'sequence': 1,
        'metric': 'greediness',
        'supply': (1.0,) * size,
        'load': (0.5,) * size,
        'virtual': (2.0,) * size,
        'owners': {OwnerId(k): v for k, v in (owners or {}).items()},
    }
    return HostReport(**(values | changes))
