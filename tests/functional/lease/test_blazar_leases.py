# SPDX-License-Identifier: Apache-2.0
"""L9: the service of leases starts, charges and ends leases of Blazar, which have no hosts here."""

import pytest

from nova_market.core.lease.blazar import BlazarLease
from nova_market.services.lease.blazar import BlazarCalls
from nova_market.services.lease.replanning import replan
from tests.support.lease_bed import CREDITS
from tests.support.lease_records import HOUR
from tests.support.lease_settings import SETTINGS

pytestmark = pytest.mark.functional


def checked(bed, hours=2.0):
    """Four cores for so long, an hour from now."""
    start = bed.clock.wall() + HOUR
    lease = BlazarLease(
        id='', name='n', project_id='red', user_id='u', region='r', start=start,
        end=start + hours * HOUR, amounts=(4.0, 0.0, 0.0),
    )  # fmt: skip
    return lease, BlazarCalls(bed.stores, SETTINGS, 'blazar').create(lease)


def test_it_is_charged_hour_by_hour_and_ends_by_itself(bed):
    """Also while the cloud is away, whose hosts it does not need, and Blazar calls no more."""
    lease, row = checked(bed)
    bed.cloud.available = False
    charged = []
    for until in (HOUR - 10, HOUR + 10, 2 * HOUR + 10, 3 * HOUR + 10):
        bed.run(row.created_at + until - bed.clock.wall(), HOUR / 4)
        charged.append((str(bed.read(row).state), bed.read(row).charged / 1e6))
    assert charged == [('planned', 0), ('active', 0), ('active', 4), ('ended', 8)]
    BlazarCalls(bed.stores, SETTINGS, 'blazar').end(lease)
    assert (bed.balance('red'), bed.balance('bank')) == (CREDITS - 8, 8)
    assert bed.ledger.discrepancies() == []


def test_it_takes_no_room_and_is_not_moved(bed):
    """All hosts are booked beside it, and a replan leaves it out."""
    _, row = checked(bed)
    bed.book(nodes=3, whole=True, after=HOUR)
    replan(bed.stores, SETTINGS, 'operator')
    bed.change_host('a', answering=False)
    bed.run(300)
    assert bed.read(row) == row


def test_a_service_that_was_away_for_all_of_it_charges_it(bed):
    """Blazar's servers ran; a lease of our own would have failed."""
    _, row = checked(bed)
    bed.clock.advance(9 * HOUR)
    bed.run()
    assert (str(bed.read(row).state), bed.balance('bank')) == ('ended', 8)
