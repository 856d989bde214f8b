# SPDX-License-Identifier: Apache-2.0
"""The template of an application: what its owner wrote of it, as values.

Implements the description of an application of Merkat (INRIA RR-8648), section 2.3: components, each a
virtual cluster of servers of one image, the controller's policy, the service-level objective, the budget, and
the terms of its start. Units: micro-credits, micro-credits per core or MiB and period, cores, MiB, seconds
since the epoch; in a document times are ISO 8601 in UTC.

A performance value is the larger the worse, as a response time; a throughput is turned round (1 / value),
its band too.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from nova_market.core.text import shown
from nova_market.core.timestamp import FORM, seconds, stamp
from nova_market.errors import BadTemplate, BadTime

MAX_NAME = 255
MAX_COMPONENTS = 20
MAX_COUNT = 1000
"""Servers of one component."""
MAX_NETWORKS = 16
MAX_PARAMETERS = 16
MAX_USER_DATA = 48_000
"""Bytes: Nova takes 65535 characters of Base64."""
MAX_DOCUMENT = 32_768
"""Bytes without user_data: lists and each pass of the controller read the templates of all applications."""
MAX_CORES = 1_000_000.0
MAX_MIB = 2.0**40
MAX_EVERY = 2**31 - 1
MAX_DRAIN = 86_400
"""Seconds: a day. What is given up is paid for as long as it drains."""
MAX_VALUE = 1e15
"""Of a metric, a threshold, an amount of work."""

LATEST = 253_370_764_800.0
"""The year 9999 begins; a time with a zone could be in a year that nothing can write."""

BAND = ('low', 'reference', 'high')
DEADLINE_BAND = (0.75, 0.9, 1.0)
"""low, reference, high of remaining time / time to the deadline; low is the paper's, section 2.3.2."""

COMPONENT_NAME = r'[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?'
"""A part of host names and of the servers' metadata."""


class Goal(StrEnum):
    """What an application is measured by."""

    DEADLINE = 'deadline'
    METRIC = 'metric'
    THROUGHPUT = 'throughput'
    QUEUE = 'queue'
    NONE = 'none'
    """By nothing: it runs as long as it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slo:
    """Service-level objective. low, reference, high: thresholds in the metric's own unit (see `band`)."""

    goal: Goal
    low: float
    reference: float
    high: float
    deadline: float | None = None
    work_core_seconds: float | None = None
    """Work of the whole application: what it has been given, of this, is its progress without reports."""

    @property
    def band(self) -> tuple[float, float, float]:
        """low, reference, high of the performance value: the larger, the worse."""
        if self.goal is Goal.THROUGHPUT:
            return (1.0 / self.high, 1.0 / self.reference, 1.0 / self.low)
        return (self.low, self.reference, self.high)

    def performance(self, metric: float) -> float:
        """The performance value of a reported metric; a throughput of nothing is as bad as can be."""
        if self.goal is Goal.THROUGHPUT:
            return 1.0 / metric if metric > 0 else math.inf
        return metric


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """The application's budget is filled up to this, every so many periods; None: by hand."""

    renew_amount: int | None = None
    renew_every: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """It starts when every price named is below its limit; past `before` it is cancelled instead."""

    price_below: Mapping[str, float] = field(default_factory=dict)
    before: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """A virtual cluster: least_count to most_count servers that are alike."""

    name: str
    flavor: str
    image: str
    networks: tuple[str, ...] = ()
    """Names or ids; none: what Nova chooses ("auto")."""

    least_count: int = 1
    most_count: int = 1
    least_cpu: float = 0.0
    least_memory_mib: float = 0.0
    """The least allocation of a server that makes sense."""

    drain_timeout: int = 0
    """Seconds that a server has for its work when it is given up; 0: it is deleted at once."""

    user_data: str = ''


class Rest(StrEnum):
    """How the servers of an application rest while it is suspended."""

    SUSPEND = 'suspend'
    """With their memory on the disks of their hosts, where they keep their room."""

    SHELVE = 'shelve'
    """As images, without their memory and without room on any host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppTemplate:
    """parameters: keyword arguments of the policy, an entry point of nova_market.scaling

    when_suspended: None: as the operator has it
    """

    name: str
    policy: str
    parameters: Mapping[str, float] = field(default_factory=dict)
    slo: Slo
    budget: Renewal = field(default_factory=Renewal)
    start: Start = field(default_factory=Start)
    components: tuple[Component, ...]
    when_suspended: Rest | None = None


def parsed(document: Mapping[str, Any]) -> AppTemplate:
    """A template from a document that core.app.template_schema.TEMPLATE allows.

    :raises BadTemplate: what a schema can't express is wrong; names the entry, its value and what to give.
    """
    components = tuple(_component(one) for one in document['components'])
    names = [one.name for one in components]
    for name in names:
        if names.count(name) > 1:
            raise BadTemplate(
                f'components: {names.count(name)} are named {name}: give each its own'
            )
    return AppTemplate(
        name=_line('name', document['name']),
        policy=document['policy'],
        parameters=parameters_of(document.get('parameters', {})),
        slo=slo_of(document.get('slo', {})),
        budget=_renewal(document.get('budget', {})),
        start=_start(document.get('start', {})),
        components=components,
        when_suspended=rest_of(document.get('when_suspended')),
    )


def rest_of(name: str | None) -> Rest | None:
    """The part `when_suspended` of a template."""
    return None if name is None else Rest(name)


def slo_of(document: Mapping[str, Any]) -> Slo:
    """The part `slo` of a template, {} without; the same holds as for `parsed`."""
    goal = next((goal for goal in Goal if goal in document), Goal.NONE)
    if goal is Goal.NONE:
        return Slo(goal=goal, low=1.0, reference=1.0, high=1.0)
    if goal is Goal.QUEUE:
        return Slo(goal=goal, low=0.0, reference=1.0, high=1.0)
    if goal is not Goal.DEADLINE:
        return Slo(goal=goal, **_band(f'slo.{goal}', document[goal]))
    work = document.get('work_core_seconds')
    band = dict(zip(BAND, DEADLINE_BAND, strict=True))
    return Slo(
        goal=goal,
        deadline=_time('slo.deadline', document['deadline']),
        work_core_seconds=None if work is None else float(work),
        **_band('slo', {**band, **{name: document[name] for name in BAND if name in document}}),
    )


def parameters_of(document: Mapping[str, Any]) -> Mapping[str, float]:
    """The part `parameters` of a template."""
    return {name: float(value) for name, value in document.items()}


def document(template: AppTemplate) -> dict[str, Any]:
    """The template as JSON has it; `parsed` of it is the template again, but for user_data."""
    return {
        'name': template.name,
        'policy': template.policy,
        'parameters': dict(template.parameters),
        'slo': slo_document(template.slo),
        'budget': {
            'renew_amount': template.budget.renew_amount,
            'renew_every': template.budget.renew_every,
        },
        'start': _start_document(template.start),
        'components': [_component_document(one) for one in template.components],
        'when_suspended': None if template.when_suspended is None else str(template.when_suspended),
    }


def user_data(template: AppTemplate) -> dict[str, str]:
    """What runs on the servers, by component that has any."""
    return {one.name: one.user_data for one in template.components if one.user_data}


def with_user_data(template: AppTemplate, texts: Mapping[str, str]) -> AppTemplate:
    """The template with these, by component."""
    return replace(
        template,
        components=tuple(
            replace(one, user_data=texts.get(one.name, '')) for one in template.components
        ),
    )


def slo_document(slo: Slo) -> dict[str, Any]:
    """The part `slo` as JSON has it."""
    if slo.goal is Goal.NONE:
        return {}
    if slo.goal is Goal.QUEUE:
        return {'queue': True}
    band = {'low': slo.low, 'reference': slo.reference, 'high': slo.high}
    if slo.deadline is None:
        return {str(slo.goal): band}
    work = slo.work_core_seconds
    return {
        'deadline': stamp(slo.deadline),
        **({} if work is None else {'work_core_seconds': work}),
        **band,
    }


def _band(where: str, band: Mapping[str, Any]) -> Mapping[str, float]:
    if not band['low'] <= band['reference'] <= band['high']:
        raise BadTemplate(
            f'{where}: low {band["low"]:g}, reference {band["reference"]:g}, '
            f'high {band["high"]:g}: give low <= reference <= high'
        )
    return {name: float(band[name]) for name in BAND}


def _renewal(document: Mapping[str, Any]) -> Renewal:
    amount = document.get('renew_amount')
    return Renewal(
        renew_amount=None if amount is None else int(amount),
        renew_every=int(document.get('renew_every', 1)),
    )


def _start(document: Mapping[str, Any]) -> Start:
    prices = document.get('price_below', {})
    before = document.get('before')
    return Start(
        price_below={name: float(limit) for name, limit in prices.items()},
        before=None if before is None else _time('start.before', before),
    )


def _time(where: str, text: str) -> float:
    """A pattern lets 31 February and the year 1 pass."""
    try:
        at = seconds(text)
    except BadTime:
        at = math.nan
    if not 0 <= at <= LATEST:
        raise BadTemplate(f'{where}: {shown(text)}: give {FORM}, after 1970 and before 9999')
    return at


def _line(where: str, text: str) -> str:
    """A pattern does not know which characters are printable."""
    if not text.isprintable():
        raise BadTemplate(f'{where}: {shown(text)}: give a printable text')
    return text


def _start_document(start: Start) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    if start.price_below:
        shown['price_below'] = dict(start.price_below)
    if start.before is not None:
        shown |= {'before': stamp(start.before), 'else': 'cancel'}
    return shown


def _component(document: Mapping[str, Any]) -> Component:
    name = document['name']
    where = f'component {name}'
    least_count = int(document.get('least_count', 1))
    most_count = int(document.get('most_count', least_count))
    if least_count > most_count:
        raise BadTemplate(f'{where}: least_count {least_count} is above most_count {most_count}')
    least = document.get('least', {})
    networks = enumerate(document.get('networks', ()))
    return Component(
        name=name,
        flavor=_line(f'{where}: flavor', document['flavor']),
        image=_line(f'{where}: image', document['image']),
        networks=tuple(_line(f'{where}: networks[{n}]', one) for n, one in networks),
        least_count=least_count,
        most_count=most_count,
        least_cpu=float(least.get('cpu', 0.0)),
        least_memory_mib=float(least.get('memory_mib', 0.0)),
        drain_timeout=int(document.get('drain_timeout', 0)),
        user_data=_user_data(f'{where}: user_data', document.get('user_data', '')),
    )


def _user_data(where: str, text: str) -> str:
    """A schema counts characters."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise BadTemplate(f'{where}: {shown(text)}: give a text of UTF-8') from None
    if size > MAX_USER_DATA:
        raise BadTemplate(f'{where}: {size} bytes: give at most {MAX_USER_DATA}')
    return text


def _component_document(one: Component) -> dict[str, Any]:
    return {
        'name': one.name,
        'flavor': one.flavor,
        'image': one.image,
        'networks': list(one.networks),
        'least_count': one.least_count,
        'most_count': one.most_count,
        'least': {'cpu': one.least_cpu, 'memory_mib': one.least_memory_mib},
        'drain_timeout': one.drain_timeout,
    }
