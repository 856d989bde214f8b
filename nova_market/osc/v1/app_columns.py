# SPDX-License-Identifier: Apache-2.0
"""What people read of an application's components and servers."""

from collections.abc import Mapping
from typing import Any

from cliff.columns import FormattableColumn

from nova_market.core.ledger.money import credit_text
from nova_market.core.timestamp import length_text
from nova_market.osc.v1.columns import (
    Amount,
    Column,
    Credits,
    Fields,
    InCredits,
    Parameters,
    Price,
)


class Clusters(FormattableColumn[Any]):
    """Each component in a line: how many servers of what, what one bids and gets."""

    def human_readable(self) -> str:
        return '\n'.join(_cluster(one) for one in self._value or ())


class Servers(FormattableColumn[Any]):
    """Each server in a line."""

    def human_readable(self) -> str:
        return '\n'.join(_server(one) for one in self._value or ())


class Reports(FormattableColumn[Any]):
    """What was reported last, of all of it and of servers; what was not reported is left out."""

    def human_readable(self) -> str:
        return '\n'.join(
            Fields(
                {name: value for name, value in one.items() if value is not None}
            ).human_readable()
            for one in self._value or ()
        )


class Start(InCredits):
    """The terms of a start; prices in credits."""

    def human_readable(self) -> str:
        terms = dict(self._value or {})
        if 'price_below' in terms:
            below = terms['price_below'].items()
            terms['price_below'] = {name: Price(value).human_readable() for name, value in below}
        return Fields(terms).human_readable()


LIST: tuple[Column, ...] = (
    ('ID', 'id', None),
    ('Name', 'name', None),
    ('Policy', 'policy', None),
    ('State', 'state', None),
    ('Spent', 'spent', Credits),
    ('Lateness', 'lateness', Amount),
)
OF_PROJECTS: tuple[Column, ...] = (*LIST, ('Project', 'project_id', None))
SHOW: tuple[Column, ...] = (
    ('ID', 'id', None),
    ('Name', 'name', None),
    ('Project', 'project_id', None),
    ('Policy', 'policy', None),
    ('Parameters', 'parameters', Parameters),
    ('Objective', 'slo', Fields),
    ('Start', 'start', Start),
    ('When Suspended', 'when_suspended', None),
    ('State', 'state', None),
    ('Reason', 'reason', None),
    ('Wish', 'wish', None),
    ('Balance', 'balance', Credits),
    ('Renew Amount', 'renew_amount', Credits),
    ('Renew Every', 'renew_every', None),
    ('Spent', 'spent', Credits),
    ('Performance', 'performance', Amount),
    ('Remaining', 'remaining', Amount),
    ('Lateness', 'lateness', Amount),
    ('Components', 'clusters', Clusters),
    ('Servers', 'servers', Servers),
    ('Reports', 'reports', Reports),
    ('Created At', 'created_at', None),
    ('Changed At', 'changed_at', None),
)
TEMPLATE: tuple[Column, ...] = (
    ('Name', 'name', None),
    ('Policy', 'policy', None),
    ('Parameters', 'parameters', Parameters),
    ('Objective', 'slo', Fields),
    ('Start', 'start', Start),
    ('When Suspended', 'when_suspended', None),
    ('Renew Amount', 'renew_amount', Credits),
    ('Renew Every', 'renew_every', None),
    ('Components', 'clusters', Clusters),
)
CREDENTIAL: tuple[Column, ...] = (('Credential', 'credential', None),)


def _cluster(one: Mapping[str, Any]) -> str:
    range_ = f'{one["least_count"]} to {one["most_count"]}'
    if 'wanted' not in one:
        return f'{one["name"]}: {range_} of {one["flavor"]}, {_more(one)}'
    bid = f'{credit_text(one["bid_cpu"])} + {credit_text(one["bid_memory"])}'
    return (
        f'{one["name"]}: {one["count"]} of {one["wanted"]} wanted ({range_}) of {one["flavor"]}; '
        f'each bids {bid}, gets {one["cpu"]:.4g} cores, {one["memory_mib"]:.6g} MiB'
    )


def _more(one: Mapping[str, Any]) -> str:
    """What else the template of a component has; user_data is not shown."""
    least = one.get('least') or {}
    amounts = [
        f'{least[name]:.6g} {unit}'
        for name, unit in (('cpu', 'cores'), ('memory_mib', 'MiB'))
        if least.get(name)
    ]
    drain = one.get('drain_timeout')
    return ', '.join(
        (
            f'image {one["image"]}',
            f'networks {" and ".join(one.get("networks") or ()) or "as Nova chooses"}',
            *([f'least {" and ".join(amounts)}'] if amounts else ()),
            *([f'drains for {length_text(drain)}'] if drain else ()),
        )
    )


def _server(one: Mapping[str, Any]) -> str:
    tries = f', {one["attempts"]} tries failed' if one['attempts'] else ''
    label = f'{one["component"]}-{one["number"]}: {one["server_id"] or "not there"}'
    drain = one.get('drain')
    if one['intention'] == 'draining' and drain:
        failed = '' if drain['failed'] is None else f', its hook failed: {drain["failed"]}'
        return f'{label}, draining since {drain["since"]}, until {drain["until"]} at most{failed}'
    return f'{label}, to be {one["intention"]}{tries}'
