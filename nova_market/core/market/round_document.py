# SPDX-License-Identifier: Apache-2.0
"""What a round has decided, as it is stored and shown: prices, allocations, a document with the reasons.

Implements rules P3, B5, A4 and F6 of doc/source/specs/market.rst. The document holds what other tables
do not: inputs, what counted as a bid and where it came from, why. With it and the allocations any engine can
complete the round. A default bid (B3) is explained by `default_bids` of the round, by `wealth`, `committed`
and `default_bids` of its payer, and by `limit` of the server. Units: as in core.market.record; pairs are
(cpu, memory).
"""

from collections.abc import Mapping, Sequence

import numpy as np

from nova_market.core.ledger.posting import AccountId, Posting, Reason, account
from nova_market.core.market.bid import MARKET_RESOURCES, BidSource
from nova_market.core.market.carried_state import KEY, CarriedState
from nova_market.core.market.currency_step import payer_bids, payer_dues
from nova_market.core.market.enforced import KEY as ENFORCED
from nova_market.core.market.enforced import STATED, enforced_on
from nova_market.core.market.inputs import RoundInputs
from nova_market.core.market.record import AllocationRecord, PriceRecord
from nova_market.core.market.round import MEANING, RoundOutcome, Why
from nova_market.core.market.settings import MarketSettings
from nova_market.core.resource import Array, OwnerId

FORMAT = 1

MAX_LINES = 20_000
"""Servers with a line of their own in a document, those with the largest errors first: some 5 MiB."""

DIGITS = 9

HALTED = 'halted'
"""Where the servers stand that were halted when the round was decided, by host."""


def price_records(inputs: RoundInputs, outcome: RoundOutcome) -> list[PriceRecord]:
    """Prices of the round, one per resource that some host sells."""
    snapshot = inputs.snapshot
    given = snapshot.answering[snapshot.host] & snapshot.buyable
    return [
        PriceRecord(
            period=inputs.period,
            resource=name,
            price=float(outcome.price[r]),
            bid_price=float(outcome.bid_price[r]),
            capacity=float(snapshot.capacity[r, snapshot.answering].sum()),
            allocated=float(outcome.actual[r, given[r]].sum()),
            bids=int(outcome.bids[r].sum()),
        )
        for r, name in enumerate(MARKET_RESOURCES)
        if snapshot.offered[r]
    ]


def allocation_records(inputs: RoundInputs, outcome: RoundOutcome) -> list[AllocationRecord]:
    """What each server gets, by id. What is not sold, its host gives it, as much as is ideal."""
    ideal, actual, charges = (
        np.where(inputs.snapshot.buyable, outcome.ideal, outcome.actual).tolist(),
        outcome.actual.tolist(),
        outcome.charges.tolist(),
    )
    error = outcome.error.tolist()
    return [
        AllocationRecord(
            period=inputs.period,
            server_id=server.id,
            project_id=server.project_id,
            host=server.host,
            ideal_cpu=ideal[0][row],
            actual_cpu=actual[0][row],
            ideal_memory_mib=ideal[1][row],
            actual_memory_mib=actual[1][row],
            error=error[row],
            charge_cpu=charges[0][row],
            charge_memory=charges[1][row],
        )
        for row, server in enumerate(inputs.servers)
    ]


def document(
    inputs: RoundInputs,
    outcome: RoundOutcome,
    settings: MarketSettings,
    carried: CarriedState,
    postings: Sequence[Posting],
    heaviness: Mapping[OwnerId, float],
) -> dict[str, object]:
    """Inputs, outcome and reasons, as JSON has them.

    postings: what the currency policy has decided; heaviness: as hosts reported it in the rounds before
    """
    shown = _shown(outcome.error)
    return {
        'format': FORMAT,
        'period': inputs.period,
        'settings': {
            'period_seconds': settings.period,
            'reserve': list(settings.reserve),
            'host_reserve': list(settings.host_reserve),
            **settings.options,
        },
        'demand': _rounded(outcome.demand),
        'last_price': _rounded(inputs.past.price),
        'held_prices': _held_prices(inputs, outcome),
        'default_bids': {
            'cycle': inputs.means.cycle,
            'load': _rounded(inputs.defaults.load),
        },
        'largest_error': round(outcome.largest_error, DIGITS),
        'hosts': _hosts(inputs),
        'payers': _payers(inputs, outcome),
        'heaviness': _heaviness(inputs, heaviness),
        'payer_of': {
            server.id: payer
            for server, payer in zip(inputs.servers, inputs.bids.payers, strict=True)
            if payer != account('project', server.project_id)
        },
        'servers': [_line(inputs, outcome, row) for row in shown],
        'servers_left_out': len(inputs.servers) - len(shown),
        HALTED: _halted(inputs),
        KEY: carried.plain(),
        'postings': [[p.key, str(p.reason), p.debit, p.credit, p.amount] for p in postings],
    }


def _heaviness(inputs: RoundInputs, heaviness: Mapping[OwnerId, float]) -> dict[str, float]:
    """Of the projects that have servers; a host's word does not make a project."""
    owners = sorted({OwnerId(server.project_id) for server in inputs.servers})
    return {owner: round(heaviness[owner], DIGITS) for owner in owners if owner in heaviness}


def _halted(inputs: RoundInputs) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for server in inputs.others:
        if server.halted:
            found.setdefault(server.host, []).append(server.id)
    return found


def halted_servers(stored: Mapping[str, object]) -> Mapping[str, Sequence[str]]:
    """Host -> the servers that were halted there when the round was decided (F6)."""
    found = stored.get(HALTED)
    return found if isinstance(found, dict) else {}


def stored_postings(stored: Mapping[str, object]) -> list[Posting]:
    """What the currency policy had decided when the round was stored."""
    lines = stored.get('postings')
    return [
        Posting(
            key=key,
            reason=Reason(reason),
            debit=AccountId(debit),
            credit=AccountId(credit),
            amount=amount,
        )
        for key, reason, debit, credit, amount in (lines if isinstance(lines, list) else [])
    ]


def stored_payers(stored: Mapping[str, object]) -> Mapping[str, AccountId]:
    """Server -> who pays for it, of those for whom their project does not."""
    found = stored.get('payer_of')
    return {str(s): AccountId(p) for s, p in found.items()} if isinstance(found, dict) else {}


def answering_hosts(stored: Mapping[str, object]) -> frozenset[str]:
    """The hosts that took part."""
    hosts = stored.get('hosts')
    return frozenset(
        str(host['name'])
        for host in (hosts if isinstance(hosts, list) else [])
        if host['answering']
    )


def _shown(error: Array) -> list[int]:
    """Rows with a line, by id."""
    rows = np.argsort(-error, kind='stable')[:MAX_LINES]
    return [int(row) for row in np.sort(rows)]


def _hosts(inputs: RoundInputs) -> list[dict[str, object]]:
    sold = inputs.snapshot.sells
    return [
        {
            'name': host.name,
            'capacity': _rounded(inputs.snapshot.capacity[:, row]),
            'answering': host.answering,
            'enabled': host.enabled,
            'zone': host.zone,
            ENFORCED: enforced_on(sold, row),
            STATED: host.name in inputs.stated,
        }
        for row, host in enumerate(inputs.hosts)
    ]


def _held_prices(inputs: RoundInputs, outcome: RoundOutcome) -> list[dict[str, object]]:
    """B4: where the breaker has held a price, and what it would have been."""
    return [
        {
            'resource': name,
            'last_price': float(inputs.past.price[r]),
            'price': float(outcome.price[r]),
            'free_price': float(outcome.free_price[r]),
        }
        for r, name in enumerate(MARKET_RESOURCES)
        if outcome.held[r]
    ]


def _payers(inputs: RoundInputs, outcome: RoundOutcome) -> list[dict[str, object]]:
    due, wanted = payer_dues(inputs, outcome), payer_bids(inputs)
    short = set(outcome.short.tolist())
    return [
        {
            'id': payer,
            'available': int(inputs.snapshot.available[row]),
            'wealth': int(inputs.means.wealth[row]),
            'committed': int(inputs.means.committed[row]),
            'default_bids': int(inputs.defaults.amount[row]),
            'bids': wanted[row],
            'due': due[row],
            'scaled': row in short,
        }
        for row, payer in enumerate(inputs.payers)
    ]


def _line(inputs: RoundInputs, outcome: RoundOutcome, row: int) -> dict[str, object]:
    server, bids = inputs.servers[row], inputs.bids
    why = Why(int(outcome.why[row]))
    line: dict[str, object] = {
        'id': server.id,
        'project_id': server.project_id,
        'host': server.host,
        'payer': bids.payers[row],
        'bid': bids.bids[:, row].tolist(),
        'counted': outcome.bids[:, row].tolist(),
        'source': [BidSource(int(s)).name.lower() for s in bids.source[:, row]],
        'limit': _rounded(bids.caps[:, row]),
        'reasons': [text for flag, text in MEANING.items() if flag in why],
    }
    if server.id in bids.notes:
        line['note'] = bids.notes[server.id][:200]
    return line


def _rounded(numbers: Array) -> list[float]:
    return [round(float(number), DIGITS) for number in numbers]
