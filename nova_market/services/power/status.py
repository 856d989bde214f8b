# SPDX-License-Identifier: Apache-2.0
"""What `nova-market-manage power list` shows, from the database. Watts."""

from collections.abc import Iterator

from nova_market.core.lease.host_view import host_view_from
from nova_market.core.power.host_step import Phase
from nova_market.core.power.record import StoredPower
from nova_market.core.resource import HostName
from nova_market.core.timestamp import stamp
from nova_market.ports import JobStateStore, PowerStore
from nova_market.services.lease.observing import STATE as HOSTS
from nova_market.services.power.power_pass import STATE


def render(store: PowerStore, states: JobStateStore) -> str:
    """A line for each host, for a person."""
    return '\n'.join(_lines(store, states))


def _lines(store: PowerStore, states: JobStateStore) -> Iterator[str]:
    last, view, stored = states.read(STATE), host_view_from(states.read(HOSTS)), store.hosts()
    if not last:
        yield 'the service of leases has looked at no host: see [power]mode'
        return
    watts = dict(zip(view.names, view.base_w.tolist(), strict=True)) if view else {}
    yield f'mode {last["mode"]}, last pass {stamp(last["at"])}'
    if last['short']:
        yield 'more is wanted than all hosts can give'
    for name in last['hosts']:
        one = stored.get(HostName(name), StoredPower())
        drawn = 0.0 if one.state.phase is Phase.OFF else watts.get(name, 0.0)
        reasons = [one.why, last['advice'].get(name, ''), last['troubles'].get(name, '')]
        why = '; '.join(reason for reason in reasons if reason)
        since = stamp(one.state.since) if one.revision else '-'
        yield f'{name} {one.state.phase} {since} {drawn:g} W {why}'.rstrip()
