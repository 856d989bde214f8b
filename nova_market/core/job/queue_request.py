# SPDX-License-Identifier: Apache-2.0
"""What an owner or the operator asks of a queue, checked: a new one, a changed one.

Implements rules J1 and J11 of doc/source/specs/jobs.rst (SVMSched, section 4.2). A document has passed the
API's schema. Units: as in core.job.queue.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from typing import Any

from nova_market.core.job.operator_limits import LIMITED, JobLimits
from nova_market.core.job.queue import SHORT_BELOW, QueueLimits, QueueState, StoredQueue
from nova_market.core.job.tender_terms import check_tender
from nova_market.core.text import shown
from nova_market.errors import BadQueue

UUID = re.compile(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', re.ASCII)
PLAIN = frozenset(
    {
        'name', 'description', 'share', 'aggregate', 'policy', 'parameters', 'short_below', 'flavors',
        'image', 'networks', 'reuse', 'projects_trust_each_other', 'idle_seconds', 'weights',
        'price_core_hour', 'price_rule',
    }
)  # fmt: skip
OPERATORS = frozenset({'share', 'aggregate'})
"""What only the operator sets."""

ALL = 'all'
"""Instead of a queue: all of them together."""

SHARE_SLACK = 1e-9
"""Shares such as three times 1/3 may add up to a little more than 1."""


Policies = Mapping[str, Collection[str] | None]
"""The policies that are installed, with the parameters that each takes; None: it says so itself."""


def new_queue(
    document: Mapping[str, Any],
    policies: Policies,
    flavors: Collection[str],
    most: JobLimits,
    *,
    queue_id: str,
    project_id: str,
    user_id: str,
    now: float,
) -> StoredQueue:
    """A queue of a document. policies: that it may have; flavors: that the cloud has; most: the operator's

    :raises BadQueue: names what is wrong and what may be given.
    """
    blank = StoredQueue(
        id=queue_id, name='', project_id=project_id, user_id=user_id, created_at=now, changed_at=now,
        short_below=min(SHORT_BELOW, most.max_short_below),
    )  # fmt: skip
    if 'policy' not in document:
        # one that is left out must be allowed as well
        document = {**document, 'policy': blank.policy}
    return changed_queue(blank, document, policies, flavors, most)


def changed_queue(
    queue: StoredQueue,
    document: Mapping[str, Any],
    policies: Policies,
    flavors: Collection[str],
    most: JobLimits,
) -> StoredQueue:
    """The queue with what the document has; of limits and submitters what is not given stays.

    :raises BadQueue: names what is wrong and what may be given.
    """
    values = {name: _value(document[name]) for name in sorted(PLAIN & document.keys())}
    if 'limits' in document:
        values['limits'] = QueueLimits(**{**asdict(queue.limits), **document['limits']})
    for name, given in document.get('submitters', {}).items():
        values[name] = tuple(given)
    if 'state' in document:
        values['state'] = QueueState(document['state'])
    made = replace(queue, **values)
    _check(made, document, policies, flavors)
    _check_limits(made, document, most)
    return made


def shares_above_one(shares: Mapping[str, float]) -> float | None:
    """The sum of all shares, when it is above 1. shares: by queue, of one cloud or aggregate."""
    total = sum(shares.values())
    return total if total > 1 + SHARE_SLACK else None


def _check(
    made: StoredQueue,
    document: Mapping[str, Any],
    policies: Policies,
    flavors: Collection[str],
) -> None:
    if UUID.fullmatch(made.name) or made.name == ALL:
        raise BadQueue(f'name: {made.name} means something else in a path: give another name')
    if 'policy' in document and made.policy not in policies:
        known = ' or '.join(sorted(policies)) or 'another one'
        raise BadQueue(
            f'policy: {shown(made.policy)} is not installed, or the operator does not allow it '
            f'([jobs]policies): give {known}'
        )
    if made.is_tender:
        check_tender(made)
    elif 'policy' in document or 'parameters' in document:
        _check_parameters(made, policies.get(made.policy))
    if 'flavors' in document:
        for name in made.flavors:
            if name not in flavors:
                raise BadQueue(f'flavors: the cloud has no flavor {shown(name)}: name another one')
        if len(set(made.flavors)) < len(made.flavors):
            raise BadQueue('flavors: one is given twice: give each once')
    for name in ('image', 'description'):
        if not getattr(made, name).isprintable():
            raise BadQueue(f'{name}: {shown(getattr(made, name))}: give a printable text')


def _check_parameters(made: StoredQueue, known: Collection[str] | None) -> None:
    """Each set of parameters is a selection of its own in every pass: what has no effect is refused."""
    wrong = [name for name in sorted(made.parameters) if known is not None and name not in known]
    if wrong:
        allowed = f'give {" or ".join(sorted(known))}' if known else 'give none'
        raise BadQueue(f'parameters: {shown(wrong[0])} is none of policy {made.policy}: {allowed}')


def _check_limits(made: StoredQueue, document: Mapping[str, Any], most: JobLimits) -> None:
    """What is given now; what was stored under a larger limit of the operator may stay."""
    given = {name: document.get('limits', {}).get(name) for name in LIMITED.values()}
    wanted = {f'limits.{name}': (value, name) for name, value in given.items() if value is not None}
    if 'short_below' in document:
        wanted['short_below'] = made.short_below, 'max_short_below'
    for entry, (value, name) in wanted.items():
        limit = getattr(most, name)
        if value > limit:
            raise BadQueue(
                f'{entry}: {value}: the operator allows at most {limit} ([jobs]{name}): give less'
            )


def _value(given: Any) -> Any:
    if isinstance(given, list):
        return tuple(given)
    return {**given} if isinstance(given, Mapping) else given
