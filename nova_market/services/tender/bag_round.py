# SPDX-License-Identifier: Apache-2.0
"""One bag negotiates: its waiting tasks are tried, one after the other, until none is left or enough were.

Implements INRIA RR-7837, section 3.5.2, and rule T5 of doc/source/specs/tender.rst, around
core.tender.negotiation, which decides what is tried, taken and dropped. A *round* tries each task that waits
once; it goes on in the next pass where this one has no more time, by what is stored of it (tried_at).

That a task takes an offer is stored with the offer before it is accepted, so whoever is killed leaves a task
whose offer either has a job or is released (services.tender.bags).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nova_market.core.job.record import StoredJob
from nova_market.core.ledger.money import credit_text
from nova_market.core.ledger.posting import account
from nova_market.core.resource import Flags, Rows
from nova_market.core.tender.bag import (
    BagAction,
    StoredBag,
    StoredTask,
    TaskState,
    WaitingTasks,
    offer_id_of,
    request_id_of,
    strategy_of,
)
from nova_market.core.tender.bag_offers import Answer, answer, refuses_all, taken
from nova_market.core.tender.negotiation import (
    Choice,
    NoDeal,
    Strategy,
    choice,
    next_alternative,
    turn,
)
from nova_market.core.tender.stored_offer import OfferState, StoredOffer
from nova_market.core.tender.utility import Utility
from nova_market.errors import (
    BadJob,
    BadOffer,
    BalanceTooLow,
    Conflict,
    QueueClosed,
    QueueFull,
    TooManyJobs,
)
from nova_market.ports import BagStore, LedgerStore, QueueStore
from nova_market.services.tender.bag_journal import BagJournal
from nova_market.services.tender.offers import Gone, OfferRequests

LONGEST_CHAIN = 20
"""Offers that are tried for one task, each after the one before was gone."""

LATE = 'it cannot be in time any more, even if it started now'
REFUSED = (BalanceTooLow, TooManyJobs, QueueClosed, BadJob, BadOffer, Conflict)
"""Errors of an acceptance, but Gone."""


class Bounds:
    """What one pass may do for bags: requests and acceptances, and seconds; a task once begun is finished."""

    def __init__(self, tries: int, until: float, monotonic: Callable[[], float]) -> None:
        self._until, self._monotonic = until, monotonic
        self.left = tries

    def count(self) -> None:
        self.left -= 1

    def over(self) -> bool:
        return self.left <= 0 or self._monotonic() >= self._until


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundParts:
    """requests: of the bag's owner; their offers are not stored. leading: False: another service decides"""

    bags: BagStore
    queues: QueueStore
    ledger: LedgerStore
    requests: OfferRequests
    utilities: Mapping[str, Utility]
    valid: float
    wall: Callable[[], float]
    leading: Callable[[], bool]
    recover: Callable[[StoredTask], StoredJob | None]


class BagRound:
    """The round of one bag, as far as one pass gets."""

    def __init__(self, bag: StoredBag, parts: RoundParts, bounds: Bounds) -> None:
        self._bag, self._parts, self._bounds = bag, parts, bounds
        self._journal = BagJournal(bag, parts.bags, parts.wall)
        self._strategy: Strategy | None = None
        self._answers: dict[int, Answer] = {}
        self._free: frozenset[str] = frozenset()
        self._names: dict[str, str] = {}
        self._problems: dict[str, str] = {}
        self._committed = 0
        self._balance: int | None = None
        self._stopped = self._again = False
        self._full: set[str] = set()

    def run(self) -> bool:
        """Whether the round is over; otherwise it goes on in the next pass.

        :raises DatabaseUnavailable, CloudUnavailable: it goes on later.
        """
        now = self._parts.wall()
        utility = self._parts.utilities.get(self._bag.utility)
        if utility is None:
            self._problems[''] = f'utility {self._bag.utility} is not installed any more'
            self._journal.waits = 1  # as far as is known
            self._end(now)
            return True
        self._strategy = strategy_of(self._bag, utility)
        progress = self._parts.bags.progress([self._bag.id])[self._bag.id]
        self._committed = progress.committed + progress.spent
        began = self._bag.round_at or now
        self._again = self._bag.again and self._bag.round_at > 0
        if not self._bag.round_at:
            self._journal.write(round_at=now, again=False)
        queue_of = self._parts.queues.queue
        queues = {n: one for n in self._bag.queues if (one := queue_of(n)) is not None}
        self._names = {n: one.name for n, one in queues.items()}
        mine = self._bag.project_id
        self._free = frozenset(n for n, one in queues.items() if one.project_id == mine)
        waiting = self._parts.bags.waiting(self._bag.id)
        self._journal.waits = len(waiting.row) + waiting.unread
        over = self._try_all(waiting, (waiting.tried_at < began) | (not self._bag.round_at))
        if over:
            self._end(self._parts.wall())
        else:
            self._journal.write(next_at=self._parts.wall(), reason=self._reason())
        return over

    def _try_all(self, waiting: WaitingTasks, left: Flags) -> bool:
        """left: rows of `waiting` that were not tried yet in this round. One of them is tried in any pass."""
        assert self._strategy is not None
        while self._parts.leading():
            now = self._parts.wall()
            step = turn(waiting.tasks, np.flatnonzero(left), now, self._strategy)
            if len(step.overdue):
                self._drop(waiting, step.overdue)
                left[step.overdue] = False
            if step.row is None:
                return True
            tried = self._tried(waiting, step.row, np.flatnonzero(left), now)
            left[tried] = False
            if self._stopped:
                return True
            if len(tried) and self._bounds.over():
                break
        return not left.any()

    def _tried(self, waiting: WaitingTasks, row: int, left: Rows, now: float) -> Rows:
        """Try one task; which rows of `waiting` are done with for this round; none: a queue was full."""
        assert self._strategy is not None
        group = int(waiting.group[row])
        found = self._answers.get(group)
        if found is None:
            found = self._ask(*waiting.kinds[group])
            self._answers[group] = found
        deadline = float(waiting.tasks.deadline[row])
        budget = self._budget()
        best = choice(
            found.offers, deadline=deadline, budget=budget, now=now, strategy=self._strategy
        )
        if best.terms is None:
            why = best.why or NoDeal.NO_OFFER
            same: Rows = left[waiting.group[left] == group]
            if refuses_all(found.offers, budget) is None:
                # what is not in time for one is not for those that are to be done sooner
                same = same[waiting.tasks.deadline[same] <= deadline]
            self._refuse(waiting, same, why, _text(found, why, budget, deadline - now))
            return same
        task = self._parts.bags.task(self._bag.id, int(waiting.row[row]))
        if task is None or task.state is not TaskState.WAITING:
            return np.array([row], dtype=np.intp)
        done = self._take(task, found, best, group)
        return np.array([row] if done else [], dtype=np.intp)

    def _ask(self, flavors: Sequence[str], time_limit: int) -> Answer:
        """Offers of all queues for a task of this kind, as one list (O5)."""
        self._bounds.count()
        made: list[StoredOffer] = []
        why: list[str] = []
        for queue_id in self._bag.queues:
            if queue_id in self._full:
                why.append(self._problems[queue_id])
                continue
            body = {
                'queue': queue_id, 'time_limit': time_limit, 'utility': self._bag.utility,
                'weight': self._bag.weight,
            }  # fmt: skip
            try:
                found = self._parts.requests.create(body)
            except (BadOffer, BadJob, QueueClosed) as error:
                self._problems[queue_id] = str(error)
                why.append(str(error))
                continue
            self._problems.pop(queue_id, None)
            usable = [one for one in found.offers if not flavors or one.flavor in flavors]
            made += [_limited(one, flavors) for one in usable]
            why += found.why
            if found.offers and not usable:
                why.append(f'no offer is for {", ".join(flavors)}')
        return Answer(offers=answer(made, self._free), made=tuple(made), why=tuple(why))

    def _take(self, task: StoredTask, found: Answer, best: Choice, group: int) -> bool:
        """Accept what was chosen, or what can be had instead. False: it waits, and tries the other queues."""
        assert self._strategy is not None
        made, chosen = list(found.made), best
        content = self._content(task)
        why, reason, given_up = NoDeal.GONE, '', ''
        for _ in range(LONGEST_CHAIN):
            if chosen.terms is None:
                break
            self._bounds.count()
            terms = chosen.terms
            decided = self._decide(task, made[terms.source], terms.cost, given_up)
            if decided is None:
                break
            task = replace(task, state=TaskState.TAKING, tries=task.tries + 1, offer_id=decided.id)
            given_up, self._balance = decided.id, None
            try:
                accepted, job_id, _ = self._parts.requests.accept(decided, content, None)
            except Gone as error:
                self._answers.pop(group, None)
                self._journal.event(task.name, BagAction.GONE, str(error), cost=terms.cost)
                reason = str(error)
                chosen = self._instead(task, chosen, error.instead.offers, len(made))
                made += error.instead.offers
                continue
            except QueueFull as error:
                self._leave_out(decided.queue_id, str(error))
                return self._parts.recover(task) is not None
            except REFUSED as error:
                self._answers.pop(group, None)
                why, reason = self._refused(error), str(error)
                break
            self._place(task, accepted, job_id)
            self._answers_less(group, terms.source)
            return True
        self._give_up(task, given_up, why, reason)
        return True

    def _leave_out(self, queue_id: str, reason: str) -> None:
        """Nothing more is asked of a queue that is full, until the next pass."""
        self._full.add(queue_id)
        self._problems[queue_id] = reason
        self._answers.clear()
        # those that wait are not refused for it: they are tried again later
        self._stopped = self._stopped or self._full.issuperset(self._bag.queues)
        self._journal.write()

    def _instead(
        self, task: StoredTask, chosen: Choice, fresh: Sequence[StoredOffer], before: int
    ) -> Choice:
        """Of the alternatives that were kept and of those that came with the refusal, the best one."""
        assert self._strategy is not None
        return next_alternative(
            chosen.alternatives,
            answer(fresh, self._free, before=before),
            deadline=task.deadline or np.inf,
            budget=self._budget(),
            now=self._parts.wall(),
            strategy=self._strategy,
        )

    def _refused(self, error: Exception) -> NoDeal:
        """Why an acceptance was refused for another reason than that the offer is gone."""
        if isinstance(error, BalanceTooLow):
            return NoDeal.BUDGET
        if isinstance(error, TooManyJobs):
            # of the project: the next task would be refused as well
            self._problems['jobs'], self._stopped = str(error), True
            return NoDeal.NO_OFFER
        return NoDeal.GONE if isinstance(error, Conflict) else NoDeal.NO_OFFER

    def _decide(
        self, task: StoredTask, wanted: StoredOffer, cost: int, given_up: str
    ) -> StoredOffer | None:
        now = self._parts.wall()
        offer = replace(
            wanted,
            id=offer_id_of(task.bag_id, task.row, task.tries),
            request_id=request_id_of(task.bag_id, task.row, task.tries),
            deadline=task.deadline,
            state=OfferState.OPEN,
            created_at=now,
            valid_until=now + self._parts.valid,
            number=0,
        )
        found = self._parts.bags.decide(task, offer, cost, given_up, self._bag.changed_at)
        # its owner has changed the bag or the task: the next round goes by that
        self._stopped = self._stopped or found is None
        return found

    def _place(self, task: StoredTask, offer: StoredOffer, job_id: str) -> None:
        # what it was honoured for; in a queue of its own project nothing is paid
        paid = 0 if offer.queue_id in self._free else offer.cost
        self._committed += paid
        queue = self._names.get(offer.queue_id, offer.queue_id)
        self._journal.placed(task, offer, job_id, paid, queue)

    def _give_up(self, task: StoredTask, given_up: str, why: NoDeal, reason: str) -> None:
        """No deal after all: the offer is released, and nobody can accept it any more."""
        if not given_up:
            return  # somebody else has changed the task: nothing was decided for it
        self._journal.write()
        if self._parts.recover(task) is None:
            self._journal.refused((task.row,), (task.name,), why, reason)

    def _refuse(self, waiting: WaitingTasks, rows: Rows, why: NoDeal, reason: str) -> None:
        chosen = rows.tolist()
        names = [waiting.names[row] for row in chosen]
        new = any(waiting.why[row] != why for row in chosen)
        self._journal.refused(waiting.row[rows].tolist(), names, why, reason, said=new)

    def _drop(self, waiting: WaitingTasks, rows: Rows) -> None:
        names = [waiting.names[row] for row in rows.tolist()]
        self._journal.dropped(waiting.row[rows].tolist(), names, NoDeal.OVERDUE, LATE)

    def _end(self, now: float) -> None:
        """The round is over: those that wait still are tried again after `poll` seconds.

        In the next pass, if a task has ended since it began.
        """
        pause = 0.0 if self._again else self._bag.poll
        next_at = now + pause if self._journal.waits else 0.0
        self._journal.write(round_at=0.0, next_at=next_at, reason=self._reason())

    def _budget(self) -> int:
        """What may be committed now: of the project's balance, and of the bag's own limit.

        What accepted offers may cost is in escrow already, so the balance does not have it any more.
        """
        if self._balance is None:
            name = account('project', self._bag.project_id)
            self._balance = int(self._parts.ledger.balances([name]).get(name, 0))
        left = self._balance
        if self._bag.budget is not None:
            left = min(left, self._bag.budget - self._committed)
        return max(left, 0)

    def _content(self, task: StoredTask) -> dict[str, object]:
        found = dict(self._parts.bags.content(task.bag_id, task.content))
        return {**found, 'name': task.name, 'environment': dict(task.environment)}

    def _answers_less(self, group: int, source: int) -> None:
        """One of equal places was taken."""
        found = self._answers.get(group)
        left = taken(found, source) if found and source < len(found.made) else None
        if left is None:
            self._answers.pop(group, None)
        else:
            self._answers[group] = left

    def _reason(self) -> str:
        return '; '.join(self._problems[name] for name in sorted(self._problems))


def _limited(offer: StoredOffer, flavors: Sequence[str]) -> StoredOffer:
    """An offer that is honoured on one of these flavors; (): on any."""
    if not flavors:
        return offer
    return replace(
        offer, flavors={name: size for name, size in offer.flavors.items() if name in flavors}
    )


def _text(found: Answer, why: NoDeal, budget: int, seconds: float) -> str:
    """Numbers to a refusal. seconds: until the deadline"""
    if why is NoDeal.BUDGET:
        least = int(found.offers.cost.min())
        return f'the cheapest offer costs {credit_text(least)}, and {credit_text(budget)} is left'
    if why is NoDeal.DEADLINE:
        first = float(found.offers.seconds.min())
        return f'the first offer is done in {first:.0f} s, the deadline is in {seconds:.0f} s'
    return '; '.join(found.why)
