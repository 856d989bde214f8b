# SPDX-License-Identifier: Apache-2.0
"""The template of an application: what its owner says of it, read and checked.

Implements the virtual platform's description of Merkat (INRIA RR-8648), section 2.3: components, each a
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

from nova_market.core.app.template_entry import TemplateEntry, seconds_of
from nova_market.core.ledger.money import MAX_AMOUNT
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.timestamp import stamp
from nova_market.errors import BadTemplate

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
MAX_VALUE = 1e15
"""Of a metric, a threshold, an amount of work."""

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

    user_data: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class AppTemplate:
    """parameters: keyword arguments of the policy, an entry point of nova_market.scaling."""

    name: str
    policy: str
    parameters: Mapping[str, float] = field(default_factory=dict)
    slo: Slo
    budget: Renewal = field(default_factory=Renewal)
    start: Start = field(default_factory=Start)
    components: tuple[Component, ...]


def parsed(document: object) -> AppTemplate:
    """A template from the document that YAML or JSON gives.

    :raises BadTemplate: names the entry, its value, the limit and what to do.
    """
    top = TemplateEntry(document, 'the template').fields(
        ('name', 'policy', 'slo', 'components'), ('parameters', 'budget', 'start')
    )
    components = top['components'].items(1, MAX_COMPONENTS)
    made = tuple(_component(one) for one in components)
    names = [one.name for one in made]
    for name in names:
        if names.count(name) > 1:
            raise BadTemplate(
                f'components: {names.count(name)} are named {name}: give each its own'
            )
    return AppTemplate(
        name=top['name'].line(MAX_NAME),
        policy=top['policy'].text(r'[A-Za-z0-9_.-]{1,64}', 'the name of a scaling policy'),
        parameters=parameters_of(top['parameters'].value) if 'parameters' in top else {},
        slo=slo_of(top['slo'].value),
        budget=_renewal(top['budget']) if 'budget' in top else Renewal(),
        start=_start(top['start']) if 'start' in top else Start(),
        components=made,
    )


def slo_of(document: object) -> Slo:
    """The part `slo` of a template.

    :raises BadTemplate: as `parsed`.
    """
    entry = TemplateEntry(document, 'slo')
    goals = [goal for goal in Goal if isinstance(document, Mapping) and goal in document]
    if len(goals) != 1:
        found = ', '.join(goals) or 'none'
        raise BadTemplate(f'slo: give one of {", ".join(Goal)}; found {found}')
    if goals[0] is Goal.DEADLINE:
        return _deadline(entry)
    inner = entry.fields((goals[0],), ())[goals[0]]
    if goals[0] is Goal.QUEUE:
        if inner.value is not True:
            raise inner.wrong('true')
        return Slo(goal=Goal.QUEUE, low=0.0, reference=1.0, high=1.0)
    values = inner.fields(('low', 'reference', 'high'), ())
    return Slo(
        goal=goals[0], **_band(inner, {k: v.above_zero(MAX_VALUE) for k, v in values.items()})
    )


def parameters_of(document: object) -> Mapping[str, float]:
    """The part `parameters` of a template.

    :raises BadTemplate: as `parsed`.
    """
    entry = TemplateEntry(document, 'parameters')
    if not isinstance(document, Mapping) or len(document) > MAX_PARAMETERS:
        raise entry.wrong(f'at most {MAX_PARAMETERS} numbers by name')
    values = {}
    for name, value in document.items():
        TemplateEntry(name, 'a name in parameters').text(
            r'[a-z][a-z0-9_]{0,63}', 'a lower-case name'
        )
        values[str(name)] = TemplateEntry(value, f'parameters.{name}').number(-MAX_VALUE, MAX_VALUE)
    return values


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


def _deadline(entry: TemplateEntry) -> Slo:
    given = entry.fields(('deadline',), ('work_core_seconds', 'low', 'reference', 'high'))
    work = given.get('work_core_seconds')
    names = ('low', 'reference', 'high')
    band = dict(zip(names, DEADLINE_BAND, strict=True))
    band |= {name: given[name].above_zero(MAX_VALUE) for name in names if name in given}
    return Slo(
        goal=Goal.DEADLINE,
        deadline=seconds_of(given['deadline']),
        work_core_seconds=None if work is None else work.above_zero(MAX_VALUE),
        **_band(entry, band),
    )


def _band(entry: TemplateEntry, band: Mapping[str, float]) -> Mapping[str, float]:
    if not band['low'] <= band['reference'] <= band['high']:
        raise BadTemplate(
            f'{entry.where}: low {band["low"]:g}, reference {band["reference"]:g}, '
            f'high {band["high"]:g}: give low <= reference <= high'
        )
    return band


def _renewal(entry: TemplateEntry) -> Renewal:
    given = entry.fields((), ('renew_amount', 'renew_every'))
    amount = given.get('renew_amount')
    every = given.get('renew_every')
    return Renewal(
        renew_amount=None
        if amount is None or amount.value is None
        else amount.whole(0, MAX_AMOUNT, 'micro-credits'),
        renew_every=1 if every is None else every.whole(1, MAX_EVERY, 'periods'),
    )


def _start(entry: TemplateEntry) -> Start:
    given = entry.fields((), ('price_below', 'before', 'else'))
    prices = given['price_below'].fields((), MARKET_RESOURCES) if 'price_below' in given else {}
    otherwise = given.get('else')
    if otherwise is not None and otherwise.value != 'cancel':
        raise otherwise.wrong('"cancel": what is not started in time is not started at all')
    return Start(
        price_below={name: one.above_zero(MAX_VALUE) for name, one in prices.items()},
        before=seconds_of(given['before']) if 'before' in given else None,
    )


def _start_document(start: Start) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    if start.price_below:
        shown['price_below'] = dict(start.price_below)
    if start.before is not None:
        shown |= {'before': stamp(start.before), 'else': 'cancel'}
    return shown


def _component(entry: TemplateEntry) -> Component:
    given = entry.fields(
        ('name', 'flavor', 'image'),
        ('networks', 'least_count', 'most_count', 'least', 'user_data'),
    )
    name = given['name'].text(COMPONENT_NAME, '1 to 32 of a-z, 0-9 and -, as a host name has')
    inside = {
        key: TemplateEntry(one.value, f'component {name}: {key}') for key, one in given.items()
    }
    least_count = (
        inside['least_count'].whole(1, MAX_COUNT, 'servers') if 'least_count' in inside else 1
    )
    most_count = (
        inside['most_count'].whole(1, MAX_COUNT, 'servers')
        if 'most_count' in inside
        else least_count
    )
    if least_count > most_count:
        raise BadTemplate(
            f'component {name}: least_count {least_count} is above most_count {most_count}'
        )
    least = inside['least'].fields((), ('cpu', 'memory_mib')) if 'least' in inside else {}
    networks = inside['networks'].items(0, MAX_NETWORKS) if 'networks' in inside else []
    return Component(
        name=name,
        flavor=inside['flavor'].line(MAX_NAME),
        image=inside['image'].line(MAX_NAME),
        networks=tuple(one.line(MAX_NAME) for one in networks),
        least_count=least_count,
        most_count=most_count,
        least_cpu=least['cpu'].number(0, MAX_CORES) if 'cpu' in least else 0.0,
        least_memory_mib=least['memory_mib'].number(0, MAX_MIB) if 'memory_mib' in least else 0.0,
        user_data=inside['user_data'].bulk(MAX_USER_DATA) if 'user_data' in inside else '',
    )


def _component_document(one: Component) -> dict[str, Any]:
    return {
        'name': one.name,
        'flavor': one.flavor,
        'image': one.image,
        'networks': list(one.networks),
        'least_count': one.least_count,
        'most_count': one.most_count,
        'least': {'cpu': one.least_cpu, 'memory_mib': one.least_memory_mib},
    }
