# SPDX-License-Identifier: Apache-2.0
"""What counts of the messages of a host does not depend on when, and in which order, they arrive: rule F2."""

from hypothesis import given
from hypothesis import strategies as st

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.transport.local import LocalHub, LocalTransport
from nova_market.adapters.transport.wire_format import CompactFormat
from nova_market.core.market.delivery import ended_at, newly_confirmed, valid_until
from nova_market.core.market.inventory import Allocation
from nova_market.services.exchange.allocation_receiver import AllocationReceiver
from nova_market.services.exchange.allocation_sender import AllocationSender
from tests.support.exchange.exchanges import Roll

ENGINE, HOST = 'engine1', 'a'
PERIOD, SECONDS, INTERVAL = 1000, 60, 10
SERVERS = 'xyz'

rounds = st.lists(
    st.tuples(st.sets(st.sampled_from(SERVERS)), st.integers(0, 120), st.booleans()),
    min_size=1,
    max_size=12,
)
"""Of each round of the host: servers in force, seconds until its message arrives, is the message lost?"""


@given(rounds)
def test_a_server_counts_that_was_in_force_before_the_period_ended(drawn):
    """Also if no message of that time arrives, as long as one does that was sent later."""
    clock, streets = ManualClock(wall=float(PERIOD * SECONDS)), LocalHub()
    given = [Allocation(server_id=name, cores=1.0, memory_mib=1.0) for name in SERVERS]
    engine = AllocationSender(
        name=ENGINE, transport=LocalTransport(host=ENGINE, hub=streets), wire=CompactFormat(),
        clock=clock, membership=Roll(),
    )  # fmt: skip
    line = AllocationReceiver(
        host=HOST, transport=LocalTransport(host=HOST, hub=streets), wire=CompactFormat(),
        clock=clock, engines=[ENGINE],
    )  # fmt: skip
    line.start(lambda sender, frame: None)
    engine.start()
    engine.send(PERIOD, valid_until(PERIOD, SECONDS), {HOST: given})
    frames = []
    streets.join(ENGINE, lambda sender, frame: frames.append(frame))
    first, coming, known = {}, [], set()
    for servers, delay, lost in drawn:
        line.confirm(line.look(), sorted(servers), {})
        first = dict.fromkeys(servers, clock.wall()) | first
        if not lost:
            coming.append((clock.wall() + delay, len(coming), frames[-1]))
            known |= servers
        clock.advance(INTERVAL)
    engine.start()
    for arrival, _, frame in sorted(coming):
        clock.advance(max(arrival - clock.wall(), 0.0))
        streets.carry(HOST, ENGINE, frame)
    ended = ended_at(PERIOD, SECONDS)
    found = newly_confirmed(engine.confirmed(PERIOD), dict.fromkeys(SERVERS, HOST), set(), ended)
    assert set(found) == {name for name in known if first[name] < ended}
    assert all(one.since == first[name] for name, one in found.items())
