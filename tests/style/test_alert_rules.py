# SPDX-License-Identifier: Apache-2.0
"""Alert rules name metrics and labels that there are, and operators find each alert explained."""

import re
from itertools import chain

import pytest
import yaml
from prometheus_client.registry import Collector

from nova_market.errors import BadRow
from nova_market.row_boundary import RowBoundary
from nova_market.services.fairness.metrics import FairnessCollector
from nova_market.services.job.metrics import JobsCollector
from nova_market.services.set_aside import SetAsideCollector
from tests.style.test_layering import ROOT
from tests.support.host_builders import guest
from tests.unit.services.fairness.test_agent import BUSY, World
from tests.unit.services.job.test_metrics import seen

FILES = sorted((ROOT / 'contrib/prometheus').glob('*.rules.yaml'))
SERIES = re.compile(r'\b(nova_\w+)(?:\{([^}]*)\})?')
PAGE = ROOT / 'doc/source/admin/jobs-operating.rst'
OPERATORS = r'[-+*/()<>=!\[\]{},."\s\w]'


def of_fairness(tmp_path) -> Collector:
    world = World(tmp_path)
    world.hosts['a'].add(guest('d1', 'd'), BUSY)
    collector = FairnessCollector('a', lambda: {'malformed': 3}, lambda: 7)
    world.rounds(1)
    collector.observe(world.rounds(1)[0])
    return collector


def of_jobs(tmp_path) -> Collector:
    collector = JobsCollector(lambda: True)
    collector.observe(seen())
    return collector


def of_passes(tmp_path) -> Collector:
    boundary = RowBoundary()
    with boundary.row('job', 'a', 'read'):
        raise BadRow('it is damaged')
    return SetAsideCollector(boundary)


COLLECTORS = {
    'nova-fairness': of_fairness, 'nova-market-jobs': of_jobs, 'nova-market-passes': of_passes,
}  # fmt: skip


def series(collector):
    """Labels by name of series."""
    samples = chain.from_iterable(family.samples for family in collector.collect())
    return {one.name: set(one.labels) for one in samples}


def rules(path):
    document = yaml.safe_load(path.read_text(encoding='utf-8'))
    return [rule for group in document['groups'] for rule in group['rules']]


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name.partition('.')[0])
def test_every_metric_of_a_rule_exists(path, tmp_path):
    """With the labels that the rule selects by, and those that its text shows."""
    there = series(COLLECTORS[path.name.partition('.')[0]](tmp_path))
    for rule in rules(path):
        expr = rule['expr']
        found = SERIES.findall(expr)
        # fairness shows this one only while a round is under way
        known = {name for name, _ in found} - {'nova_fairness_round_under_way_seconds'}
        assert known <= there.keys(), rule['alert']
        for name, chosen in found:
            labels = set(re.findall(r'(\w+)\s*[=!]', chosen))
            assert labels <= there.get(name, labels), rule['alert']
        texts = ' '.join(rule['annotations'].values())
        grouped = set(re.findall(r'by \((\w+)\)', expr))
        labels = {label for name in known for label in there[name]}
        shown = set(re.findall(r'\$labels\.(\w+)', texts)) - {'instance'}
        assert shown <= ((grouped or labels) | {'host'}), rule['alert']
        assert expr.count('(') == expr.count(')') and re.fullmatch(f'{OPERATORS}+', expr)


def test_rules_of_every_service_are_checked():
    assert {path.name.partition('.')[0] for path in FILES} == COLLECTORS.keys()


def test_every_alert_about_jobs_is_explained():
    """What it means and what to do; and no other one is."""
    (path,) = [path for path in FILES if 'jobs' in path.name]
    named = {rule['alert'] for rule in rules(path)}
    assert set(re.findall(r'``(NovaMarket\w+)``', PAGE.read_text())) == named


def test_every_metric_of_jobs_is_documented(tmp_path):
    """By its name, with its labels."""
    text = PAGE.read_text()
    there = series(of_jobs(tmp_path))
    documented = dict(re.findall(r'``(nova_market_(?:jobs|queue)_\w+?)(?:\{([^}]*)\})?``', text))
    assert documented.keys() == there.keys()
    for name, labels in documented.items():
        assert set(filter(None, re.split(r',\s*', labels))) == there[name], name
