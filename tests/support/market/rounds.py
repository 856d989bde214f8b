# SPDX-License-Identifier: Apache-2.0
"""A round and a plan for tests, written as the engine writes them."""

from typing import Any

from nova_market.core.market.record import (
    AllocationRecord,
    EconomyRecord,
    PowerRecord,
    PriceRecord,
    RoundRecord,
)
from nova_market.core.rebalancing.plan import StoredMove, StoredPlan
from nova_market.core.scheduler.snapshot import document_of
from tests.support.market.api import ALICE, BOB, OF_ALICE, OF_BOB, Market
from tests.support.scheduler_builders import quiet

PERIOD = 30_000_000
"""The period of the tests' wall clock, 1.8e9 s."""


def allocation(period, server, project, **changed):
    return AllocationRecord(
        **{
            'period': period, 'server_id': server, 'project_id': project, 'host': 'host1',
            'ideal_cpu': 2.0, 'actual_cpu': 1.5, 'ideal_memory_mib': 2048.0,
            'actual_memory_mib': 2048.0, 'error': 0.25, 'charge_cpu': 300, 'charge_memory': 20,
            **changed,
        }
    )  # fmt: skip


def price(period, resource, value):
    return PriceRecord(
        period=period, resource=resource, price=value, bid_price=value, capacity=10.0,
        allocated=8.0, bids=1000,
    )  # fmt: skip


def economy(period: int, **changed: float | None) -> EconomyRecord:
    """800 of 1,000 micro-credits are with projects; the base window is complete."""
    known: dict[str, Any] = {
        'projects': 800, 'budgets': 50, 'escrow': 0, 'bank': 150, 'charged': 100,
        'price_index': 100.0, 'base_rounds': 1440, 'base_level': 100.0, 'base_cpu': 11520.0,
        'base_memory': 0.0, 'base_cpu_value': 2304000.0, 'base_memory_value': 0.0,
    }  # fmt: skip
    return EconomyRecord(period=period, **known | changed)


def power(period: int, project: str, **changed: float | None) -> PowerRecord:
    known: dict[str, Any] = {'wealth': 610, 'spend': 10, 'cores': 0.05, 'part': 0.005, 'real': 10.0}
    return PowerRecord(period=period, project_id=project, **known | changed)


def line(server, project):
    return {
        'id': server, 'project_id': project, 'host': 'host1', 'payer': f'project:{project}',
        'bid': [300, 20], 'counted': [300, 20], 'source': ['tenant', 'flavor'],
        'limit': [4.0, 4096.0], 'reasons': ['its host has less to give than the cloud as a whole'],
    }  # fmt: skip


def add_round(
    market: Market, period: int = PERIOD, cpu_price: float = 200.0, **changed: float | None
) -> None:
    """One server of Alice and one of Bob, both on host1. changed: of the economy"""
    document = {
        'format': 1,
        'settings': {'period_seconds': 60},
        'demand': [4.0, 4096.0],
        'last_price': [0.0, 0.0],
        'largest_error': 0.25,
        'held_prices': [
            {'resource': 'cpu', 'last_price': 50.0, 'price': 100.0, 'free_price': 400.0}
        ],
        'default_bids': {'cycle': 61, 'load': [1.5, 0.25]},
        'hosts': [{'name': 'host1', 'capacity': [10.0, 10.0], 'answering': True}],
        'payers': [{'id': f'project:{p}', 'available': 1, 'due': 320} for p in (ALICE, BOB)],
        'servers': [line(OF_ALICE, ALICE), line(OF_BOB, BOB)],
        'heaviness': {ALICE: 0.5, BOB: -0.25},
        'memory': {'secret': True},
        'scheduler': document_of(quiet(period=period)),
    }
    record = RoundRecord(
        period=period, leader='engine1', started_at=period * 60.0, document=document
    )
    prices = [price(period, 'cpu', cpu_price), price(period, 'memory', 0.5)]
    allocations = [allocation(period, OF_ALICE, ALICE), allocation(period, OF_BOB, BOB)]
    powers = [power(period, ALICE), power(period, BOB, cores=None, part=None, real=None)]
    market.stores.history.begin(record, prices, allocations, (), economy(period, **changed), powers)


def add_plan(market: Market, name: str = 'plan-1', created_at: float = 1.8e9) -> None:
    move = StoredMove(
        server_id=OF_BOB, source='host1', destination='host2', error_before=0.3,
        error_after=0.1, gain=5.0, cost=1.0, reason='host1 is crowded',
    )  # fmt: skip
    market.stores.plans.add(
        StoredPlan(id=name, period=PERIOD, mode='advise', created_at=created_at, moves=(move,))
    )
