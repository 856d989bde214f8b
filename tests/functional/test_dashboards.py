# SPDX-License-Identifier: Apache-2.0
"""Dashboards and alert rules name series that the services have, in queries that Prometheus understands."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from nova_market.db.database import Database
from nova_market.services.lease.metrics import LeasesCollector
from nova_market.services.market.metrics import MarketCollector
from nova_market.services.power.metrics import PowerCollector
from nova_market.services.power.power_pass import PowerSeen
from tests.style.test_alert_rules import FILES, SERIES, of_fairness, of_jobs, of_passes, series
from tests.style.test_layering import ROOT
from tests.support.lease_bed import LeaseBed
from tests.support.market_bed import Market, bidding, server

pytestmark = pytest.mark.functional

DASHBOARDS = sorted((ROOT / 'contrib/grafana').glob('*.json'))
VARIABLES = {'$__rate_interval': '5m'}
"""Of Grafana itself, and what they could stand for; those of a dashboard select by a label."""


def queries(dashboard: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each query of the panels, and the legend of its series."""
    for panel in dashboard['panels']:
        assert panel['targets'], panel['title']
        for one in panel['targets']:
            yield one['expr'], one['legendFormat']


def choices(dashboard: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Variables that a reader chooses: name, series and label that it has the values of."""
    for one in dashboard['templating']['list']:
        if one['type'] == 'query':
            found = re.fullmatch(r'label_values\((\w+), (\w+)\)', one['query'])
            assert found, one['query']
            yield one['name'], *found.groups()


@pytest.fixture(name='there')
def of_all_services(database: Database, tmp_path: Path) -> Mapping[str, set[str]]:
    """Labels by series, after the services have worked once."""
    market = Market(database, servers=[server('r', 'red', metadata=bidding(3), mib=1024)])
    market.grant('red', 2)
    of_market = MarketCollector(lambda: True)
    market.run(2)
    of_market.observe(market.decided[-1])
    of_leases = LeasesCollector(lambda: True)
    leases = LeaseBed(database)
    leases.service = leases.another(observe=of_leases.observe)
    leases.run()
    of_power = PowerCollector(lambda: True)
    of_power.observe(PowerSeen(phases={}, steps=(), short=False))
    works = (of_market, of_leases, of_power)
    shown = (of_fairness(tmp_path), of_jobs(tmp_path), of_passes(tmp_path))
    return {name: labels for one in (*works, *shown) for name, labels in series(one).items()}


@pytest.mark.parametrize('path', DASHBOARDS, ids=lambda path: path.stem)
def test_every_series_of_a_dashboard_exists(path: Path, there: Mapping[str, set[str]]) -> None:
    """With the labels that a query selects by and groups by, and those that a legend shows."""
    dashboard = json.loads(path.read_text(encoding='utf-8'))
    for expr, legend in queries(dashboard):
        found = SERIES.findall(expr)
        assert found, expr
        grouped = set(re.findall(r'\w+', ' '.join(re.findall(r'by \(([^)]*)\)', expr))))
        for name, chosen in found:
            assert name in there, expr
            assert set(re.findall(r'(\w+)\s*=', chosen)) | grouped <= there[name], expr
        summed = re.match(r'(60 \* )?(sum|count|min|max|avg|time)\b', expr)
        labels = grouped if summed else set.intersection(*(there[name] for name, _ in found))
        assert set(re.findall(r'{{(\w+)}}', legend)) <= labels, expr
    for _, name, label in choices(dashboard):
        assert label in there[name]


@pytest.mark.parametrize('path', DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_can_be_imported_anywhere(path: Path) -> None:
    """Its reader chooses the data source; its id is its name; panels do not lie on one another."""
    dashboard = json.loads(path.read_text(encoding='utf-8'))
    assert dashboard['uid'] == path.stem
    taken: set[tuple[int, int]] = set()
    for panel in dashboard['panels']:
        assert {one['datasource']['uid'] for one in (panel, *panel['targets'])} == {'${datasource}'}
        assert panel['description'] and panel['fieldConfig']['defaults']['unit']
        at = panel['gridPos']
        cells = {
            (x, y)
            for x in range(at['x'], at['x'] + at['w'])
            for y in range(at['y'], at['y'] + at['h'])
        }
        assert at['x'] + at['w'] <= 24 and not cells & taken, panel['title']
        taken |= cells


@pytest.mark.integration('promtool')
def test_prometheus_understands_every_query(tmp_path: Path) -> None:
    """Those of the panels are given to it as rules that record."""
    rules = []
    for path in DASHBOARDS:
        dashboard = json.loads(path.read_text(encoding='utf-8'))
        known = VARIABLES | {f'${name}': '.*' for name, *_ in choices(dashboard)}
        for expr, _ in queries(dashboard):
            for name, value in known.items():
                expr = expr.replace(name, value)
            assert '$' not in expr
            rules.append({'record': f'query_{len(rules)}', 'expr': expr})
    recorded = tmp_path / 'dashboards.rules.yaml'
    recorded.write_text(yaml.safe_dump({'groups': [{'name': 'dashboards', 'rules': rules}]}))
    done = subprocess.run(
        ['promtool', 'check', 'rules', recorded, *FILES],
        check=False, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
