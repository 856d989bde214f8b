# SPDX-License-Identifier: Apache-2.0
"""Bags of tasks negotiate for their owners, a part of each pass of the leading service of jobs.

Implements rule T5 of doc/source/specs/tender.rst (INRIA RR-7837, section 3.5.2) and rule F5 of
doc/source/specs/jobs.rst. In this order:

1. tasks whose offer was being accepted when a service was killed: they have their job, or wait again
2. tasks whose jobs have ended: what they have cost; their bags try the next ones
3. jobs of bags that were cancelled with their jobs are cancelled
4. bags that are due negotiate (services.tender.bag_round), each for its share of what a pass may do

A bag acts as the user who created it, with those roles of then that he has still (T7): where he may not act
in the project any more, or its queues let him in no more, it waits, and says so. A bag or a task that fails
is set aside (doc/source/specs/passes.rst).
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from nova_market.core.job.queue_access import Submitter
from nova_market.core.job.record import JobState, JobWish, StoredJob
from nova_market.core.tender.bag import (
    BagAction,
    BagEvent,
    BagState,
    BagStep,
    StoredBag,
    StoredTask,
    TaskChange,
    TaskState,
)
from nova_market.errors import CloudUnavailable, OfferEnded
from nova_market.outage_log import OutageLog
from nova_market.ports import BagStore, JobStore, LedgerStore
from nova_market.row_boundary import RowBoundary, reason_of
from nova_market.services.failures import DATABASE_AWAY
from nova_market.services.job.submission import SubmissionQuotas, Submissions, SubmissionStores
from nova_market.services.standing import Standing, Standings
from nova_market.services.tender.bag_round import BagRound, Bounds, RoundParts
from nova_market.services.tender.offers import OfferRequests, OfferSettings, OfferStores
from nova_market.services.tender.unkept_offers import UnkeptOffers

LOG = logging.getLogger(__name__)

ENDS = {JobState.FINISHED: TaskState.DONE, JobState.FAILED: TaskState.FAILED}
BY = 'by its bag'
RULE = 'bags:create'
"""By which its user has made it, and by which it goes on."""

LOST = 'bags of tasks do not negotiate, their jobs go on'


@dataclass(frozen=True, slots=True, kw_only=True)
class BagStores:
    """What bags are looked after with."""

    bags: BagStore
    jobs: JobStore
    ledger: LedgerStore
    offers: OfferStores


@dataclass(frozen=True, slots=True, kw_only=True)
class BagSettings:
    """tries: requests for offers and acceptances of one pass; seconds: after which it is left to the next one

    quotas: of the owners' projects, as for other submissions
    """

    offers: OfferSettings
    tries: int = 100
    seconds: float = 1.0
    quotas: SubmissionQuotas = field(
        default_factory=lambda: SubmissionQuotas(most_waiting=10_000, most_jobs=1000)
    )


class Bags:
    """All bags. Remembers nothing."""

    def __init__(
        self,
        stores: BagStores,
        settings: BagSettings,
        monotonic: Callable[[], float],
        boundary: RowBoundary,
        leading: Callable[[], bool] = lambda: True,
        *,
        standings: Standings,
    ) -> None:
        self._boundary = boundary
        self._stores = stores
        self._standings = standings
        self._settings = settings
        self._monotonic = monotonic
        self._leading = leading
        self._outage = OutageLog(LOG, lost=LOST, back='bags of tasks negotiate again')

    def turn(self, *, negotiates: bool = True) -> None:
        """A part of a pass. negotiates: False: there is no forecast to make offers by.

        :raises DatabaseUnavailable: the next pass does the rest.
        """
        for task in self._stores.bags.taking():
            with self._boundary.row('task', f'{task.bag_id}/{task.row}', 'recover'):
                self.recover(task, again=True)
        self._note_ends()
        for job_id in self._stores.bags.unwanted():
            with self._boundary.row('job', job_id, 'cancel'):
                self._stores.jobs.want(job_id, JobWish.CANCEL, BY)
        if negotiates:
            self._negotiate()

    def recover(self, task: StoredTask, *, again: bool = False) -> StoredJob | None:
        """What became of a task that was taking an offer: its job; None: it waits, the offer is released.

        again: its bag is to try it at once
        """
        bags, offers = self._stores.bags, self._stores.offers.offers
        try:
            offers.release(task.offer_id)
        except OfferEnded:
            offer = offers.offer(task.offer_id)
            job = self._stores.jobs.job(offer.job_id) if offer else None
            if offer is not None and job is not None:
                changed = {
                    'state': TaskState.PLACED, 'job_id': job.id, 'due_at': offer.due_at, 'why': '',
                    'reason': '',
                }  # fmt: skip
                self._write(task, changed)
                return job
            return None  # its job cannot be read yet: the task stays with its offer
        bag = bags.bag(task.bag_id)
        if bag is None or bag.state is BagState.OPEN:
            waits: dict[str, object] = {'state': TaskState.WAITING, 'cost': 0}
            if again:
                # also in a round that was begun, where it has been tried
                self._write(task, waits | {'tried_at': 0.0}, {'next_at': self._wall()})
            else:
                self._write(task, waits)
        else:
            self._write(task, {'state': TaskState.CANCELLED, 'ended_at': self._wall(), 'cost': 0})
        return None

    def _note_ends(self) -> None:
        """Tasks whose jobs have ended. Their bags try again, when all were tried that are being tried now."""
        by_bag: dict[str, list[tuple[TaskChange, BagEvent]]] = {}
        for task, job, refunded in self._stores.bags.ended():
            with self._boundary.row('task', f'{task.bag_id}/{task.row}', 'end'):
                by_bag.setdefault(task.bag_id, []).append(self._end_of(task, job, refunded))
        for bag_id, ends in by_bag.items():
            with self._boundary.row('bag', bag_id, 'ends'):
                self._stores.bags.write(
                    BagStep(
                        bag_id=bag_id,
                        changed={'next_at': self._wall(), 'again': True},
                        tasks=tuple(change for change, _ in ends),
                        events=tuple(event for _, event in ends),
                    )
                )

    def _end_of(
        self, task: StoredTask, job: StoredJob | None, refunded: int
    ) -> tuple[TaskChange, BagEvent]:
        if job is None:
            state, reason, spent, at = (
                TaskState.FAILED,
                'its job is not kept any more',
                0,
                self._wall(),
            )
        else:
            state = ENDS.get(job.state, TaskState.CANCELLED)
            reason = job.reason.text if job.reason and state is not TaskState.DONE else ''
            # in a queue of its own project a charge is a record, and nothing is paid
            spent = max(job.charged - refunded, 0) if task.cost else 0
            at = job.ended_at or self._wall()
        changed = {'state': state, 'spent': spent, 'ended_at': at, 'reason': reason}
        change = TaskChange(rows=(task.row,), before=TaskState.PLACED, changed=changed)
        event = BagEvent(
            bag_id=task.bag_id,
            at=self._wall(),
            action=str(state) if state is not TaskState.CANCELLED else BagAction.CANCELLED,
            task=task.name,
            reason=reason,
            numbers={'spent': float(spent)},
        )
        return change, event

    def _negotiate(self) -> None:
        due = self._stores.bags.due(self._wall())
        left = self._settings.tries
        until = self._monotonic() + self._settings.seconds
        for n, bag in enumerate(due):
            if not self._leading() or self._monotonic() >= until or left <= 0:
                return
            # what one does not use is for those behind it
            bounds = Bounds(-(-left // (len(due) - n)), until, self._monotonic)
            given = bounds.left
            try:
                standing = self._standings.ask(RULE, bag.user_id, bag.project_id)
                if standing.why:
                    self._wait(bag, standing)
                else:
                    roles = tuple(one for one in bag.roles if one in standing.roles)
                    self._round(bag, roles, bounds)
                    self._outage.works()
            except CloudUnavailable as error:
                self._outage.failed(error)
                return
            except DATABASE_AWAY:
                raise
            except Exception as error:
                self._boundary.failed('bag', bag.id, 'negotiate', error)
                with self._boundary.row('bag', bag.id, 'put off'):
                    self._put_off(bag, reason_of(error))
            else:
                self._boundary.works('bag', bag.id, 'negotiate')
            left -= given - bounds.left

    def _round(self, bag: StoredBag, roles: tuple[str, ...], bounds: Bounds) -> None:
        stores = self._stores
        own = replace(stores.offers, offers=UnkeptOffers(stores.offers.offers))
        by = Submitter(user_id=bag.user_id, project_id=bag.project_id, roles=roles)
        submissions = Submissions(
            SubmissionStores(
                queues=stores.offers.queues,
                jobs=stores.jobs,
                ledger=stores.ledger,
                flavors=stores.offers.flavors,
                wall=stores.offers.wall,
            ),
            by,
            self._settings.quotas,
            lambda queue: False,
        )
        parts = RoundParts(
            bags=stores.bags,
            queues=stores.offers.queues,
            ledger=stores.ledger,
            requests=OfferRequests(own, by, submissions, self._settings.offers),
            utilities=self._settings.offers.utilities,
            valid=self._settings.offers.valid,
            wall=stores.offers.wall,
            leading=self._leading,
            recover=self.recover,
        )
        over = BagRound(bag, parts, bounds).run()
        LOG.debug('bag %s: its round %s', bag.id, 'is over' if over else 'goes on')

    def _wait(self, bag: StoredBag, standing: Standing) -> None:
        """Its user may not act in its project now, or nobody can tell; its jobs go on."""
        now, why = self._wall(), standing.why
        events: tuple[BagEvent, ...] = ()
        if standing.known and bag.reason != why:
            LOG.warning('bag %s does not negotiate any more: %s', bag.id, why)
            events = (BagEvent(bag_id=bag.id, at=now, action=BagAction.STOPPED, reason=why),)
        changed = {'round_at': 0.0, 'next_at': now + bag.poll, 'reason': why}
        self._stores.bags.write(BagStep(bag_id=bag.id, changed=changed, events=events))

    def _put_off(self, bag: StoredBag, why: str) -> None:
        reason = f'it could not negotiate, and tries again in {bag.poll:g} s: {why}'
        changed = {'round_at': 0.0, 'next_at': self._wall() + bag.poll, 'reason': reason}
        self._stores.bags.write(BagStep(bag_id=bag.id, changed=changed))

    def _write(
        self,
        task: StoredTask,
        changed: dict[str, object],
        of_bag: dict[str, Any] | None = None,
    ) -> None:
        change = TaskChange(
            rows=(task.row,), before=TaskState.TAKING, changed=changed, tries=task.tries
        )
        step = BagStep(bag_id=task.bag_id, changed=of_bag or {}, tasks=(change,))
        self._stores.bags.write(step)

    def _wall(self) -> float:
        return self._stores.offers.wall()
