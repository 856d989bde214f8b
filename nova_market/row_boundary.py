# SPDX-License-Identifier: Apache-2.0
"""One bad row costs that row: whatever goes wrong with a row stays within its boundary.

Implements rules R1 to R4 of doc/source/specs/passes.rst. A row is anything that a service handles among
others of its kind: a job, a lease, a server of the cloud, a notice. What goes wrong with one is logged once,
with its traceback where it is a defect; the row is set aside with the reason, the others go on, and it is
tried again in each pass. Each stage is by itself: that a row can be read does not show that it can be paid.

Only what speaks of the row is caught. An outage concerns all rows alike and is raised; that somebody else was
faster is no fault of a row, and the next pass sees what he did.

Safe for threads.
"""

import logging
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from nova_market.core.set_aside import SetAside
from nova_market.core.text import one_line
from nova_market.errors import (
    AccessLost,
    CloudUnavailable,
    Conflict,
    DatabaseUnavailable,
    HostUnavailable,
    NoticeServerAway,
    NovaMarketError,
    QuotaUnavailable,
    SchemaBehind,
)
from nova_market.outage_log import OutageLog

LOG = logging.getLogger(__name__)

Item = TypeVar('Item')
Result = TypeVar('Result')
Key = tuple[str, str, str]
"""Kind, id, stage."""

OUTAGES = (
    DatabaseUnavailable, SchemaBehind, CloudUnavailable, AccessLost, QuotaUnavailable, HostUnavailable,
    NoticeServerAway,
)  # fmt: skip
"""What concerns all rows alike, or all of an owner."""

READ = 'read'
"""The stage in which a row is made a value, and the first word of others of that kind."""

MOST = 10_000
"""Rows that are listed and logged. Those beyond are left out all the same, remembered and counted."""

TRACEBACKS = 100
"""Rows beyond which a line of the log has no traceback: they are of the same defect."""

LONGEST = 300
"""Characters of a reason: a statement of SQL with its values is long."""

LONGEST_ID = 255
"""Characters of an id that are shown; a longer one is nobody's but a host's or a server's."""

PROBE = 20
"""Turns after which rows with which a decision on all rows failed are tried in it again."""

TRIES = 100
"""Times that one decision is made in a turn: each takes as long as all the rest of a pass."""

FORGOTTEN = 100
"""Turns after which a row that was not met again is gone."""

NAMES = re.compile(r'[0-9a-f-]{8,}|[0-9]+')
"""Ids, numbers, addresses: what differs between two texts of one trouble."""


class _Aside:
    """A row that is set aside. turn: when it was met last"""

    __slots__ = ('outage', 'row', 'turn')

    def __init__(self, row: SetAside) -> None:
        self.row = row
        self.turn = 0
        self.outage = OutageLog(
            LOG,
            lost=f'{row.kind} {row.id} is set aside ({row.stage}), all others go on',
            back=f'{row.kind} {row.id} is handled again ({row.stage})',
        )


class RowBoundary:
    """The boundaries of one process. Remembers what is set aside now, and why."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._aside: dict[Key, _Aside] = {}
        self._unread: dict[str, frozenset[str]] = {}
        """What `unread` gives, until `_aside` changes: it is asked for row by row."""
        self._counted: Counter[str] = Counter()
        self._turn = 0

    def turn(self) -> None:
        """A pass begins. Rows that were not met for many passes are forgotten: they are gone."""
        with self._lock:
            self._turn += 1
            self._unread = {}
            self._aside = {
                key: one for key, one in self._aside.items() if self._turn - one.turn <= FORGOTTEN
            }

    def row(self, kind: str, row_id: str, stage: str, project_id: str = '') -> '_Row':
        """Whatever goes wrong in the block, but an outage, sets this row aside, and the block ends there.

        project_id: whose it is, where the database does not have that
        """
        return _Row(self, kind, row_id, stage, project_id)

    def batch(
        self,
        kind: str,
        items: Sequence[Item],
        id_of: Callable[[Item], str],
        stage: str,
        work: Callable[[Sequence[Item]], Sequence[Result]],
    ) -> list[Result]:
        """What `work` gives for all items at once, or, when that fails, for each in a boundary of its own.

        work: writes all of what it is given or nothing.
        """
        if not items:
            return []
        try:
            found = list(work(items))
        except OUTAGES:
            raise
        except Exception as error:
            LOG.debug('%s: %s: one at a time: %s', kind, stage, error)
        else:
            for one in items if self._aside else ():
                self.works(kind, id_of(one), stage)
            return found
        found = []
        for one in items:
            with self.row(kind, id_of(one), stage):
                found += work([one])
        return found

    def value(
        self, kind: str, row_id: str, stage: str, work: Callable[[], Result], otherwise: Result
    ) -> Result:
        """What `work` gives within the row's boundary; `otherwise` when it is set aside."""
        with self.row(kind, row_id, stage):
            return work()
        return otherwise

    def largest(
        self,
        kind: str,
        ids: Sequence[str],
        stage: str,
        decide: Callable[[Sequence[str]], Result],
        owner_of: Callable[[str], str] = lambda row_id: '',
    ) -> Result:
        """What `decide` gives for all of these rows, or for all but those with which it fails.

        They are found by halves, and left out at once in the turns that follow; every PROBE-th turn tries
        them again, behind all others. After TRIES whatever was not tried is left out of this turn, so that no
        number of bad rows ends the others' passes.

        decide: one decision on all of these, which changes nothing
        owner_of: as project_id of `row`

        :raises Exception: of `decide`, when it fails without any row, or with each that was tried.
        """
        known = self._met(kind, ids, stage)
        fresh = [one for one in ids if one not in known]
        again = [one for one in ids if one in known] if self._turn % PROBE == 0 else []
        found, good, bad, left = _by_halves(decide, [again, fresh] if again else [fresh])
        for row_id, error in bad:
            self.failed(kind, row_id, stage, error, owner_of(row_id))
        for one in good if again else ():
            self.works(kind, one, stage)
        if left:
            LOG.warning(
                '%s: %s without %d of %d that could not be tried', kind, stage, left, len(ids)
            )
        return found

    def _met(self, kind: str, ids: Sequence[str], stage: str) -> frozenset[str]:
        """Those of these rows that are set aside at this stage; they are there still."""
        if not self._aside:
            return frozenset()
        with self._lock:
            found = {one: self._aside.get((kind, one, stage)) for one in ids}
            for aside in found.values():
                if aside is not None:
                    aside.turn = self._turn
        return frozenset(one for one, aside in found.items() if aside is not None)

    def keep(self, kind: str, ids: Iterable[str]) -> None:
        """Forget other rows of this kind: they are gone. Those that cannot be read are not."""
        if not self._aside:
            return
        there = frozenset(ids)
        with self._lock:
            self._unread = {}
            self._aside = {
                key: one
                for key, one in self._aside.items()
                if key[0] != kind or key[1] in there or key[2].startswith(READ)
            }

    def failed(
        self, kind: str, row_id: str, stage: str, error: Exception, project_id: str = ''
    ) -> None:
        """Set a row aside."""
        key, reason = (kind, row_id, stage), reason_of(error)
        with self._lock:
            made = self._aside.get(key)
            if made is None:
                self._counted[kind] += 1
                name = one_line(row_id, LONGEST_ID)
                made = _Aside(SetAside(kind=kind, id=name, stage=stage, reason=reason))
                self._aside[key] = made
                self._unread = {}
            made.turn = self._turn
            many = len(self._aside)
        ours = isinstance(error, NovaMarketError)
        level = logging.WARNING if ours else logging.ERROR
        news = made.outage.failed(
            reason,
            kind=NAMES.sub('#', reason),
            level=level if many <= MOST else logging.DEBUG,
            exc_info=False if ours or many > TRACEBACKS else error,
        )
        if news:
            owner = one_line(project_id, LONGEST_ID)
            made.row = replace(made.row, reason=reason, project_id=owner)

    def works(self, kind: str, row_id: str, *stages: str) -> None:
        """Nothing is wrong with a row at these stages, or they are not due any more."""
        if not self._aside:
            return  # nearly always: without the lock
        for stage in stages:
            with self._lock:
                found = self._aside.pop((kind, row_id, stage), None)
                if found is not None:
                    self._unread = {}
            if found is not None:
                found.outage.works()

    def unread(self, kind: str) -> frozenset[str]:
        """Ids of rows of this kind that could not be read: they are there all the same."""
        if not self._aside:
            return frozenset()
        with self._lock:
            if kind not in self._unread:
                self._unread[kind] = frozenset(
                    row_id
                    for one, row_id, stage in self._aside
                    if one == kind and stage.startswith(READ)
                )
            return self._unread[kind]

    def count(self, kind: str) -> int:
        """Rows of this kind that are set aside, which a page of those that are due must not end with."""
        if not self._aside:
            return 0
        with self._lock:
            return sum(one == kind for one, _, _ in self._aside)

    def at(self, stage: str) -> bool:
        """Whether any row is set aside at this stage."""
        with self._lock:
            return any(one == stage for _, _, one in self._aside)

    def listed(self) -> Sequence[SetAside]:
        """What is set aside now, by kind, id and stage; MOST of them."""
        with self._lock:
            return tuple(one.row for _, one in sorted(self._aside.items())[:MOST])

    def counted(self) -> Mapping[str, int]:
        """By kind: how often a row was set aside since the process began."""
        with self._lock:
            return dict(self._counted)


class _Row:
    """The block of `RowBoundary.row`."""

    __slots__ = ('_boundary', '_given', '_project_id')

    def __init__(
        self, boundary: RowBoundary, kind: str, row_id: str, stage: str, project_id: str
    ) -> None:
        self._boundary, self._given, self._project_id = boundary, (kind, row_id, stage), project_id

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> bool:
        """Whether the error is kept within."""
        if error is None:
            self._boundary.works(*self._given)
            return False
        if not isinstance(error, Exception) or isinstance(error, OUTAGES):
            return False
        if isinstance(error, Conflict):
            LOG.debug('%s %s: %s: %s', *self._given, error)
        else:
            self._boundary.failed(*self._given, error, self._project_id)
        return True


def _by_halves(
    decide: Callable[[Sequence[str]], Result], parts: list[list[str]]
) -> tuple[Result, list[str], list[tuple[str, Exception]], int]:
    """(the decision, the rows in it, those with which it fails, how many were not tried).

    parts: the last one is tried first
    """
    good: list[str] = []
    bad: list[tuple[str, Exception]] = []
    found: list[Result] = []
    tries = 0
    while parts and tries < TRIES:
        part, tries = parts.pop(), tries + 1
        try:
            found = [decide([*good, *part])]
        except OUTAGES:
            raise
        except Exception as error:
            failure = error
            middle = len(part) // 2
            if middle:
                parts += [part[middle:], part[:middle]]
            elif part:
                bad.append((part[0], error))
        else:
            good += part
    if not found and parts:
        raise failure
    return found[0] if found else decide([]), good, bad, sum(map(len, parts))


def reason_of(error: Exception) -> str:
    """In one line, for the row's owner: the error as it is, of a defect with its class."""
    text = next(iter(str(error).splitlines()), '')
    whole = text if isinstance(error, NovaMarketError) else f'{type(error).__name__}: {text}'
    return one_line(whole, LONGEST)
