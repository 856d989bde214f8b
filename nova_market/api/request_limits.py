# SPDX-License-Identifier: Apache-2.0
"""Who may send how many requests, weighted by cost: rule Q1 of doc/source/specs/market.rst.

A token bucket for each project; for each user whose token is of no project, or of a service, which acts for
all projects; for each worker and each monitor, by its credential, so that nobody uses up what is another's.
Blazar's calls name the project for which a lease is made, and cost that one. What has no caller costs nobody
anything: the web server in front limits connections by address.

Each process has buckets of its own: to share them would cost a commit for each request, which is more than
most requests cost. So a project can have as many times the rate as there are processes.
"""

import threading
import time
from collections.abc import Callable, Mapping

from oslo_context.context import RequestContext

from nova_market.api import costs
from nova_market.api.call import Call
from nova_market.api.errors import ApiError
from nova_market.api.refusal_count import RefusalCount
from nova_market.api.request_rates import Limited, RequestRates
from nova_market.api.token_bucket import Rate, owe, take
from nova_market.core.text import shown

FEWEST_SWEPT = 1000
"""Buckets that are kept before those that are full are looked for."""

SERVICE = 'service'
"""The role of services in Keystone."""

OPTIONS: Mapping[Limited, str] = {
    Limited.PROJECT: 'request_rate and request_burst',
    Limited.USER: 'request_rate and request_burst',
    Limited.WORKER: 'worker_rate and worker_burst',
    Limited.MONITOR: 'report_interval',
}
BY_COST = frozenset({Limited.PROJECT, Limited.USER})
CODES: Mapping[Limited, str] = {Limited.MONITOR: 'market.app.too_often'}
CODE = 'market.request.too_often'

Payer = tuple[Limited, tuple[str, ...]]


def _worker(call: Call) -> Payer:
    return Limited.WORKER, (call.path['worker_id'], call.body['credential'])


def _monitor(call: Call) -> Payer:
    return Limited.MONITOR, (call.path['app_id'], call.body.get('server_id', ''), call.key or '')


def _named_project(call: Call) -> Payer:
    """Of a lease of Blazar; who may not make these for others pays himself."""
    if call.context is not None and not call.may('leases:blazar'):
        return _holder(call.context)
    return Limited.PROJECT, (call.body['context']['project_id'],)


PAYERS: Mapping[str, Callable[[Call], Payer]] = {
    'worker_next_job': _worker,
    'worker_heartbeat': _worker,
    'worker_result': _worker,
    'app_report_create': _monitor,
    'blazar_check_create': _named_project,
    'blazar_commit_create': _named_project,
    'blazar_check_update': _named_project,
    'blazar_commit_update': _named_project,
    'blazar_on_end': _named_project,
}
"""Of routes whose caller is named in the request, by name; of all others the token says it."""


class RequestLimits:
    """The buckets of this process. For many threads."""

    def __init__(
        self,
        rates: RequestRates,
        refusals: RefusalCount,
        clock: Callable[[], float],
        used: Callable[[], float] = time.thread_time,
    ) -> None:
        """clock: seconds; used: seconds that a processor has worked for this thread"""
        self._rates = rates
        self._refusals = refusals
        self._clock = clock
        self._used = used
        self._lock = threading.Lock()
        self._full_at: dict[Payer, float] = {}
        self._swept_at = FEWEST_SWEPT

    def __len__(self) -> int:
        """Buckets that are not known to be full."""
        return len(self._full_at)

    def request(self, route: str) -> 'Charge':
        """What a request that has just come pays."""
        return Charge(self, route, self._used, self._rates.unit)

    def owe(self, payer: Payer, cost: float) -> None:
        """Take more of who was served, whether he has it or not."""
        rate, now = self._rates.of(payer[0]), self._clock()
        if rate.per_second:
            with self._lock:
                self._full_at[payer] = owe(self._full_at.get(payer, now), cost, rate, now)

    def take(self, route: str, payer: Payer, cost: int, paid: int) -> None:
        """Take what a request costs beyond what it has paid: both together are a full bucket at most.

        :raises ApiError: 429, there is not enough; nothing was taken.
        """
        kind, names = payer
        rate = self._rates.of(kind)
        if not rate.per_second:
            return
        now = self._clock()
        with self._lock:
            more = min(cost, max(rate.burst - paid, 0.0))
            full_at, wait = take(self._full_at.get(payer, now), more, rate, now)
            self._full_at[payer] = full_at
            if len(self._full_at) > self._swept_at:
                self._sweep(now)
        if wait:
            self._refusals.add(kind, names[0] if kind is Limited.PROJECT else '')
            # when it is sent again it pays all of it
            raise _refusal(route, payer, cost + paid, rate, wait + paid / rate.per_second)

    def _sweep(self, now: float) -> None:
        """A full bucket needs no entry: those stay that were used in the seconds in which one is filled."""
        self._full_at = {who: at for who, at in self._full_at.items() if at > now}
        self._swept_at = max(2 * len(self._full_at), FEWEST_SWEPT)


class Charge:
    """What one request pays: what is known before, and afterwards what it has taken beyond that.

    Everything between the beginning and `settle` runs in one thread.
    """

    def __init__(
        self, limits: RequestLimits, route: str, used: Callable[[], float], unit: float
    ) -> None:
        """used, unit: as of RequestLimits and RequestRates; unit 0: only what is known before is paid"""
        self._limits = limits
        self._route = route
        self._used = used
        self._unit = unit
        self._began = used()
        self._payer: Payer | None = None
        self._paid = 0

    def before_body(self, context: RequestContext | None, length: int) -> None:
        """Pay before the body is read. :raises ApiError: 429."""
        if context is not None and self._route not in PAYERS:
            cost = costs.cost_of(self._route) + costs.cost_of_bytes(length)
            self._pay(_holder(context), cost)

    def before_handler(self, call: Call, length: int) -> None:
        """Pay what is known only now: by what the body has. :raises ApiError: 429."""
        named = PAYERS.get(self._route)
        if named is not None:
            self._pay(named(call), costs.cost_of(self._route) + costs.cost_of_bytes(length))
        elif call.context is not None and (cost := costs.cost_of_elements(self._route, call.body)):
            self._pay(_holder(call.context), cost)

    def settle(self) -> None:
        """Pay what has cost more than was known; messages of workers and reports count by their number."""
        if self._payer is not None and self._payer[0] in BY_COST and self._unit:
            used = (self._used() - self._began) / self._unit
            if used > self._paid:
                self._limits.owe(self._payer, used - self._paid)

    def _pay(self, payer: Payer, cost: int) -> None:
        self._limits.take(self._route, payer, cost, self._paid)
        self._payer, self._paid = payer, self._paid + cost


def _holder(context: RequestContext) -> Payer:
    if context.project_id and SERVICE not in context.roles:
        return Limited.PROJECT, (context.project_id,)
    return Limited.USER, (context.user_id or '',)


def _refusal(route: str, payer: Payer, cost: int, rate: Rate, wait: float) -> ApiError:
    kind, names = payer
    seconds = max(int(-(-wait // 1)), 1)
    detail = (
        f'{kind} {shown(names[0])} may send what costs {rate.per_second:g} in a second and {rate.burst:g} '
        f'at once ([api]{OPTIONS[kind]}), and this request costs {cost}: send it again in {seconds} s'
    )
    return ApiError(429, CODES.get(kind, CODE), detail, retry_after=seconds)
