# SPDX-License-Identifier: Apache-2.0
"""Prometheus text of a round."""

import pytest
from prometheus_client import generate_latest

from nova_market.adapters.in_memory.host import Demand, steady
from nova_market.services.fairness.metrics import FairnessCollector
from tests.support.host_builders import MIB, guest
from tests.unit.services.fairness.test_agent import BUSY, World


def test_every_series_of_a_tenant_names_its_project(tmp_path):
    world = World(tmp_path)
    for name, owner in (('d1', 'd'), ('d2', 'd'), ('e1', 'e')):
        world.hosts['a'].add(guest(name, owner), BUSY)
    collector = FairnessCollector('a', lambda: {'malformed': 3}, lambda: 7)
    for record in (world.rounds(1)[0], world.rounds(1)[0]):
        collector.observe(record)
    collector.failed()
    text = generate_latest(collector.registry()).decode()
    assert 'nova_fairness_rounds_total{host="a",outcome="done"} 2.0' in text
    assert 'nova_fairness_rounds_total{host="a",outcome="failed"} 1.0' in text
    assert 'nova_fairness_dropped_reports_total{host="a",reason="malformed"} 3.0' in text
    assert 'nova_fairness_unused_allocation_messages_total{host="a"} 7.0' in text
    assert 'nova_fairness_share_ratio{host="a",project="e"}' in text
    for line in text.splitlines():
        if 'instance_uuid' in line:
            assert 'project=' in line


def test_supply_is_shown_beside_what_the_host_offers(tmp_path):
    world = World(tmp_path, others=steady(Demand(cpu=0.25, rss_bytes=96 * MIB)))
    world.hosts['a'].add(guest('d1', 'd'), BUSY)
    collector = FairnessCollector('a')
    collector.observe(world.rounds(30)[0])
    text = generate_latest(collector.registry()).decode()
    assert 'nova_fairness_offered_supply{host="a",resource="cpu"} 1.0\n' in text
    series = {
        sample.labels['resource']: sample.value
        for family in collector.collect()
        for sample in family.samples
        if sample.name == 'nova_fairness_supply'
    }
    assert series == {'cpu': pytest.approx(0.75), 'memory': 4000 * MIB}


def test_before_the_first_round():
    assert b'nova_fairness_rounds_total' in generate_latest(FairnessCollector('a').registry())
