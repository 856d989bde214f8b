# SPDX-License-Identifier: Apache-2.0
"""What people read of queues and jobs."""

from collections.abc import Mapping
from typing import Any

from cliff.columns import FormattableColumn

from nova_market.core.timestamp import length_text
from nova_market.osc.v1.columns import (
    Amount,
    Column,
    Credits,
    Fields,
    Parameters,
    Percent,
    Price,
    Reason,
    whole_seconds,
)

TIMES = (
    'max_time_limit', 'max_notice', 'max_least_run_time', 'short_below', 'notice', 'least_run_time',
)  # fmt: skip
"""Limits that are seconds."""

NOT_ALLOWED = 'the operator does not allow its policy: no production job starts'


class Duration(FormattableColumn[Any]):
    """5400 is read as 1h30m."""

    def human_readable(self) -> str:
        return '' if self._value is None else length_text(self._value)


class Given(FormattableColumn[Any]):
    """A value, or nothing where there is none."""

    def human_readable(self) -> str:
        return '' if self._value is None else whole_seconds(str(self._value))


class Names(FormattableColumn[Any]):
    """Names, with commas between them."""

    def human_readable(self) -> str:
        return ', '.join(str(one) for one in self._value or ())


class Limits(FormattableColumn[Any]):
    """The limits of a queue or of a job that there are; times as they can be typed."""

    def human_readable(self) -> str:
        return _limits(self._value or {})


class LimitsInForce(FormattableColumn[Any]):
    """What counts of the limits of a queue; and that its policy is not allowed, where it is not."""

    def human_readable(self) -> str:
        given = {**(self._value or {})}
        allowed = given.pop('policy', True)
        return _limits(given) + ('' if allowed else f'\n{NOT_ALLOWED}')


class Submitters(FormattableColumn[Any]):
    """Who may submit besides the queue's own project, and the roles that are needed."""

    def human_readable(self) -> str:
        return '\n'.join(
            f'{name}: {", ".join(one)}' for name, one in (self._value or {}).items() if one
        )


class ReasonText(Reason):
    """The sentence of a reason."""

    @property
    def text(self) -> str:
        reason = self._value or {}
        return str(reason.get('text') or reason.get('code') or '')


class Tender(FormattableColumn[Any]):
    """The prices of a tender queue in credits, the load, their time; the prices of the market."""

    def human_readable(self) -> str:
        given = self._value
        if not given:
            return ''
        loads = [f'{name}={value:.2f}' for name, value in given['load'].items()]
        lines = [_prices(given['prices']), f'load: {" ".join(loads)}', f'at: {given["at"]}']
        if market := given.get('clearing'):
            found = {name: market[name] for name in ('core_hour', 'mib_hour')}
            lines.append('; '.join(filter(None, (f'market: {_prices(found)}', market['reason']))))
        return '\n'.join(lines)


class Attempts(FormattableColumn[Any]):
    """Each server's part of each attempt in a line."""

    def human_readable(self) -> str:
        return '\n'.join(_attempt(one) for one in self._value or ())


QUEUES: tuple[Column, ...] = (
    ('ID', 'id', None),
    ('Name', 'name', None),
    ('Policy', 'policy', None),
    ('Share', 'share', Percent),
    ('State', 'state', None),
    ('Waiting', 'waiting', None),
    ('Active', 'active', None),
    ('Known As', 'known_as', Given),
)
QUEUES_OF_PROJECTS: tuple[Column, ...] = (*QUEUES, ('Project', 'project_id', None))
QUEUE: tuple[Column, ...] = (
    ('ID', 'id', None),
    ('Name', 'name', None),
    ('Known As', 'known_as', Given),
    ('Description', 'description', None),
    ('Project', 'project_id', None),
    ('Share', 'share', Percent),
    ('Aggregate', 'aggregate', None),
    ('Policy', 'policy', None),
    ('Parameters', 'parameters', Parameters),
    ('Short Below', 'short_below', Duration),
    ('Flavors', 'flavors', Names),
    ('Image', 'image', None),
    ('Networks', 'networks', Names),
    ('Reuse', 'reuse', None),
    ('Projects Trust Each Other', 'projects_trust_each_other', Given),
    ('Idle Seconds', 'idle_seconds', Duration),
    ('Limits', 'limits', Limits),
    ('In Force', 'in_force', LimitsInForce),
    ('Submitters', 'submitters', Submitters),
    ('Weights', 'weights', Fields),
    ('Price', 'price_core_hour', Credits),
    ('Price Rule', 'price_rule', Given),
    ('Tender', 'tender', Tender),
    ('State', 'state', None),
    ('Jobs', 'jobs', Fields),
    ('Created At', 'created_at', None),
    ('Changed At', 'changed_at', None),
)
MINUTES: tuple[Column, ...] = (
    ('At', 'at', None),
    ('Cores', 'cores', Amount),
    ('Share', 'share', Percent),
    ('Waiting', 'waiting', None),
    ('Running', 'running', None),
    ('Started', 'started', None),
    ('Finished', 'finished', None),
    ('Failed', 'failed', None),
    ('Preempted', 'preempted', None),
)
JOBS: tuple[Column, ...] = (
    ('ID', 'id', None),
    ('Name', 'label', None),
    ('Queue', 'queue', None),
    ('State', 'state', None),
    ('Reason', 'reason', ReasonText),
    ('Expected Start', 'expected_start', Given),
)
JOBS_LONG: tuple[Column, ...] = (
    *JOBS,
    ('Array', 'array_id', Given),
    ('Kind', 'kind', None),
    ('Priority', 'priority', None),
    ('Flavor', 'flavor', None),
    ('Servers', 'servers', None),
    ('Time Limit', 'time_limit', Duration),
    ('Attempt', 'attempt', None),
    ('Submitted At', 'submitted_at', None),
    ('Started At', 'started_at', Given),
    ('Ended At', 'ended_at', Given),
    ('Exit Code', 'exit_code', Given),
    ('Project', 'project_id', None),
    ('User', 'user_id', None),
)
JOB: tuple[Column, ...] = (
    ('ID', 'id', None),
    ('Name', 'name', None),
    ('Queue', 'queue', None),
    ('Project', 'project_id', None),
    ('User', 'user_id', None),
    ('Array', 'array_id', Given),
    ('Array Index', 'array_index', Given),
    ('State', 'state', None),
    ('Reason', 'reason', ReasonText),
    ('Expected Start', 'expected_start', Given),
    ('Exit Code', 'exit_code', Given),
    ('Wish', 'wish', None),
    ('Kind', 'kind', None),
    ('Priority', 'priority', None),
    ('Weight', 'weight', Amount),
    ('Flavor', 'flavor', None),
    ('Servers', 'servers', None),
    ('Cores', 'cores', Amount),
    ('Memory MiB', 'memory_mib', Amount),
    ('Disk GiB', 'disk_gib', Amount),
    ('Time Limit', 'time_limit', Duration),
    ('Begin', 'begin', Given),
    ('Value', 'value', Credits),
    ('After', 'after', Names),
    ('After Condition', 'after_condition', None),
    ('Retries', 'retries', None),
    ('Lost', 'lost', None),
    ('Requeues', 'requeues', None),
    ('Least Run Time', 'least_run_time', Duration),
    ('Notice', 'notice', Duration),
    ('Preempt Action', 'preempt_action', None),
    ('In Force', 'in_force', Limits),
    ('Cost Limit', 'cost_limit', Credits),
    ('Charged', 'charged', Credits),
    ('Compensation', 'compensation', Credits),
    ('Environment', 'environment', Fields),
    ('Output URL', 'output_url', None),
    ('Attempts', 'attempts', Attempts),
    ('Submitted At', 'submitted_at', None),
    ('Started At', 'started_at', Given),
    ('Ended At', 'ended_at', Given),
)
SCRIPTS: tuple[Column, ...] = (('Script', 'script', None), ('Checkpoint', 'checkpoint', None))
EVENTS: tuple[Column, ...] = (
    ('At', 'at', None),
    ('Attempt', 'attempt', None),
    ('Action', 'action', None),
    ('Reason', 'reason', None),
    ('Numbers', 'numbers', Fields),
)


def _limits(given: Mapping[str, Any]) -> str:
    return ' '.join(
        f'{name}={length_text(value) if name in TIMES else value}'
        for name, value in given.items()
        if value is not None
    )


def _prices(given: Mapping[str, float | None]) -> str:
    """In credits; `-` where there is none."""
    return ' '.join(
        f'{name}={"-" if value is None else Price(value).human_readable()}'
        for name, value in given.items()
    )


def _attempt(one: Mapping[str, Any]) -> str:
    usage = one.get('usage') or {}
    parts = [
        f'{one["number"]}.{one["rank"]}: {one["state"]}',
        f'on {one["server_id"]}' if one.get('server_id') else '',
        f'exit code {one["exit_code"]}' if one.get('exit_code') is not None else '',
        one.get('text') or '',
        Fields(usage).human_readable(),
    ]
    return ', '.join(part for part in parts if part)
