# SPDX-License-Identifier: Apache-2.0
"""What becomes of the values that this service, or a run of it that was killed, has written to guests.

Implements rule H9 of doc/source/specs/fairness.rst.
"""

import logging
from collections.abc import Collection, Sequence

from nova_market.core.host.load import Incarnation
from nova_market.core.host.sample import Guest
from nova_market.core.resource import GuestId
from nova_market.ports import Actuator
from nova_market.services.fairness.originals import OriginalValues

LOG = logging.getLogger(__name__)


def take_over(
    originals: OriginalValues, unused: Collection[Actuator], guests: Sequence[Guest]
) -> frozenset[Incarnation]:
    """Guests that keep what a killed run has written; only controls that are not used any more are put back.

    Their originals stay recorded, for the next stop.

    :raises HostUnavailable: the hypervisor does not answer.
    """
    originals.keep_only({guest.incarnation for guest in guests})
    taken_over = frozenset(originals.entries)
    LOG.info('%d guests keep the values of an earlier run', len(taken_over))
    for actuator in unused:
        refused = put_back(originals, actuator, guests)
        done = {key for key in taken_over if key[0] not in refused}
        originals.forget_control(actuator.name, done)
    return taken_over


def put_back(
    originals: OriginalValues, actuator: Actuator, guests: Sequence[Guest]
) -> set[GuestId]:
    """Write the originals of one control; the guests that refused them.

    :raises HostUnavailable: the hypervisor does not answer.
    """
    values = {
        guest.id: originals.entries[guest.incarnation][actuator.name]
        for guest in guests
        if actuator.name in originals.entries.get(guest.incarnation, {})
    }
    outcome = actuator.write(values, guests) if values else {}
    refused = {guest: wrong for guest, wrong in outcome.items() if wrong and wrong != 'gone'}
    for guest, wrong in refused.items():
        LOG.warning('%s of guest %s is not put back: %s', actuator.name, guest, wrong)
    return set(refused)
