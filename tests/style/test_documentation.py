# SPDX-License-Identifier: Apache-2.0
"""What the documentation states about the code, and the code about the documentation, is true."""

import re
from collections import Counter
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nova_market.core.app.policies.policy_interface import PolicyOutput, explain
from nova_market.core.fairness import metric_check
from nova_market.core.fairness.heaviness import Greediness, Metric
from nova_market.core.job.reason import ReasonCode
from nova_market.core.job.selection import decide
from nova_market.core.lease.greedy import greedy_consistent
from nova_market.core.lease.state import placement_cost
from nova_market.core.market.price import ResourceMarket, allocations, clearing_price
from tests.style.test_layering import MAY_IMPORT, ROOT, TOPICS
from tests.style.test_packaging import setup_cfg, units
from tests.support.app_builders import applications
from tests.support.job_builders import Job, snapshot
from tests.support.lease_builders import asks, during, machines

SOURCE = ROOT / 'doc/source'
RULE = re.compile(r'^([A-Z]\d+)\. ', re.MULTILINE)
CITED = re.compile(r'\b(?:[Rr]ules?|and|to|,|\() ?([ABCDFHMPS]\d{1,2})\b(?![.-]\d)')
TREE = re.compile(r'(?<![\w/.])((?:nova_market|tests|tools|doc|contrib|etc|devstack)/[\w./-]*\w)')
BESIDE = re.compile(r'``((?:\w+/)*\w+\.py)``')
"""A file without a path: it is in the folder of the path before it, or in that of the layers."""
TERMS = """
    account, actual quota, aggregator, allocation, application, attempt, bag, base watts, base
    weight, best-effort job, bid, booking, budget, calendar, carry, confirmation, conflict,
    controller, copy, cost limit, cost of a request, credit, deadband, delta, digest, endowment,
    engine, entitlement, error, escrow, expected start, fairness, forecast, freeze, full update,
    gang, greediness, head, heaviness, host, interval, job, job policy, lane, leader, lease, ledger,
    lost host, market, mint, move, near option, node, notice, nova-fairness, objective, offer,
    outbox, owner, partial sum, pass, PE, period, phase, placement, plan, policy, power actuator,
    preemption, price, production job, promise, purchasing power, queue, region, rendezvous hashing,
    replan, reservation, reserve, reserve price, round, service of jobs, service of leases, service
    of notices, set aside, share, snapshot, task, tender, tender queue, timetable, totals, trust,
    turn, usage history, utility, wake, webhook, weight, window, worker
"""


SPECS = sorted(path.name for path in (SOURCE / 'specs').glob('*.rst') if path.stem != 'index')


def rules(spec: str) -> set[str]:
    return set(RULE.findall((SOURCE / 'specs' / spec).read_text(encoding='utf-8')))


def python_files() -> list[Path]:
    return sorted(chain((ROOT / 'nova_market').rglob('*.py'), (ROOT / 'tests').rglob('*.py')))


def test_a_rule_has_a_number_of_its_own() -> None:
    """One number, one rule, in all specs together: code cites some of them without the file."""
    assert {'calendar.rst', 'fairness.rst', 'market.rst'} <= {spec for spec in SPECS if rules(spec)}
    every = [rule for spec in SPECS for rule in rules(spec)]
    assert sorted(every) == sorted(set(every))


def test_every_rule_that_code_cites_is_in_a_spec() -> None:
    """A reader who follows a citation finds the rule."""
    known = {rule for spec in SPECS for rule in rules(spec)}
    cited = {
        (rule, str(path.relative_to(ROOT)))
        for path in python_files()
        for text in re.findall(r'(?:[Rr]ules? [A-Z]\d[^\n]*|\([A-Z]\d+\))', path.read_text())
        for rule in CITED.findall(f'({text[1:]}' if text.startswith('(') else text)
    }
    assert len({rule for rule, _ in cited}) > 15, 'the pattern finds too little'
    assert sorted((rule, path) for rule, path in cited if rule not in known) == []


@pytest.mark.parametrize('spec', ['market.rst', 'calendar.rst'])
def test_a_rule_is_cited(spec: str) -> None:
    """A rule that no code names would be held by nobody."""
    text = ''.join(path.read_text(encoding='utf-8') for path in python_files())
    assert sorted(rule for rule in rules(spec) if not re.search(rf'\b{rule}\b', text)) == []


PAGES = [
    'README.rst',
    *(f'doc/source/contributor/{name}.rst' for name in ('architecture', 'layering', 'extending')),
    *sorted(f'doc/source/reference/{path.name}' for path in (SOURCE / 'reference').glob('*.rst')),
]


@pytest.mark.parametrize('page', PAGES)
def test_the_paths_a_page_names_exist(page: str) -> None:
    """Paths of the tree; those that a contributor is to add have an angle bracket or capitals."""
    text = (ROOT / page).read_text(encoding='utf-8')
    assert sorted(path for path in set(TREE.findall(text)) if not (ROOT / path).exists()) == []
    folder, missing = ROOT / 'nova_market', []
    for word in re.findall(r'``[^`]+``', text):
        if named := TREE.match(word[2:-2]):
            path = ROOT / named[1]
            folder = path if path.is_dir() else path.parent
        elif beside := BESIDE.fullmatch(word):
            homes = (folder, ROOT / 'nova_market')
            missing += [word] * (not any((home / beside[1]).exists() for home in homes))
    assert missing == []


def layer_rows() -> dict[str, tuple[set[str], set[str]]]:
    """Of the table of layering.rst: layer -> (names in what is in it, names in what it may import)."""
    text = (SOURCE / 'contributor/layering.rst').read_text(encoding='utf-8')
    table = text[text.index('   * - Layer\n') : text.index('All layers may import')]
    rows = re.findall(
        r'^   \* - ``(\w+)``\n     - (.*?)\n     - (.*?)(?=\n   \* - |\n\n)', table, re.M | re.S
    )
    return {row[0]: (names_in(row[1]), names_in(row[2])) for row in rows}


def names_in(text: str) -> set[str]:
    return set(re.findall(r'``(\w+)``', text))


def folders_of(layer: str) -> set[str]:
    """Folders of a layer, which are its topics."""
    found = {path.name for path in (ROOT / 'nova_market' / layer).iterdir() if path.is_dir()}
    return found - {'__pycache__'}


def test_every_layer_is_in_the_table() -> None:
    """layering.rst has the layers that test_layering.py enforces, and no others."""
    assert set(layer_rows()) == set(MAY_IMPORT)


@pytest.mark.parametrize('layer', sorted(MAY_IMPORT))
def test_the_table_states_what_a_layer_may_import(layer: str) -> None:
    """As test_layering.py has it, without what all of them may import."""
    for_all = {'errors', 'outage_log', 'row_boundary'}
    for_all -= {'errors'} if layer in {'core', 'plugins'} else set()
    assert layer_rows()[layer][1] & set(MAY_IMPORT) == MAY_IMPORT[layer] - for_all


@pytest.mark.parametrize('layer', ['services', 'adapters'])
def test_the_table_has_every_folder_of_a_layer(layer: str) -> None:
    """A topic that is new would otherwise be missing on the page for ever."""
    assert folders_of(layer) <= layer_rows()[layer][0]


def drawn(picture: str) -> Counter[str]:
    """The words of a drawing, and how often each is there."""
    text = (SOURCE / f'contributor/{picture}.svg').read_text(encoding='utf-8')
    return Counter(re.findall(r'[\w-]+', ' '.join(re.findall(r'<text[^>]*>([^<]*)</text>', text))))


def test_the_drawing_of_the_layers_is_complete() -> None:
    """Each layer, each topic of core, each folder of services and adapters, so some names several times."""
    wanted = Counter([*MAY_IMPORT, *(topic for line in TOPICS for topic in line)])
    wanted.update([*folders_of('services'), *folders_of('adapters')])
    assert sorted((wanted - drawn('layers')).elements()) == []


def test_the_drawing_of_the_services_is_complete() -> None:
    """Each service that has a unit is in the drawing, and in the table beside it."""
    services = units()
    text = (SOURCE / 'contributor/architecture.rst').read_text(encoding='utf-8')
    assert sorted(services - drawn('overview').keys()) == []
    assert sorted(name for name in services if f'   * - ``{name}``\n' not in text) == []


def test_the_order_of_topics_is_that_of_the_page() -> None:
    """From the outside in, as the page has them."""
    text = (SOURCE / 'contributor/layering.rst').read_text(encoding='utf-8')
    block = re.search(r'imports only those on its right::\n\n((?:    .*\n)+)', text)
    assert block
    found = [frozenset(re.findall(r'\w+', part)) for part in block[1].split('->')]
    assert tuple(reversed(found)) == TOPICS


def test_every_folder_of_the_package_is_a_layer() -> None:
    """A folder without a row in the table would be left out of the page."""
    folders = {path.name for path in (ROOT / 'nova_market').iterdir() if path.is_dir()}
    assert folders - {'__pycache__'} <= set(MAY_IMPORT)


def example(name: str) -> dict[str, Any]:
    """The names that a marked Python block of extending.rst defines."""
    text = (SOURCE / 'contributor/extending.rst').read_text(encoding='utf-8')
    block = re.search(
        rf'( *)\.\. example: {name}\n\n *\.\. code-block:: python\n\n((?:\1   .*\n|\n)+)', text
    )
    assert block
    code = '\n'.join(line[len(block[1]) + 3 :] for line in block[2].splitlines())
    names: dict[str, Any] = {'__name__': 'example'}
    exec(compile(code, f'example {name}', 'exec'), names)  # noqa: S102 (our own page)
    return names


def test_the_documented_metric_is_sound() -> None:
    """The service would take it, and it differs from the one that it derives from."""
    made = example('metric')['Strict']()
    assert isinstance(made, Metric)
    assert metric_check.broken(made) == {}
    assert (made.beta, made.gamma) != (Greediness.beta, Greediness.gamma)


def test_the_documented_policy_is_one() -> None:
    """It takes what every policy takes, and multiplies the bids."""
    seen = applications(2)
    steps = example('policy')['eager'](seen, factor=3.0)
    assert isinstance(steps, PolicyOutput)
    np.testing.assert_allclose(steps.bid, 3.0 * seen.bid)
    assert [explain(steps, n) for n in range(2)] == ['', '']


def test_the_documented_job_policy_is_one() -> None:
    """First come, first served: the narrow job passes the wide one, for which it gives the room."""
    jobs = [Job(cores=6), Job(cores=6, submitted=1.0), Job(cores=2, submitted=2.0)]
    plan = decide(snapshot(jobs), [example('job policy')['first_come']])
    assert plan.starts.tolist() == [0, 2]
    assert plan.code[1] == ReasonCode.ROOM


def test_the_documented_price_rule_is_one() -> None:
    """It ends between the last price and the clearing price, and a round is settled by it."""
    halfway = example('price rule')['halfway']
    seen = ResourceMarket(bids=np.array([80.0, 80.0]), caps=np.full(2, 4.0), capacity=4.0)
    assert halfway(seen) == clearing_price(seen) == pytest.approx(40.0)
    later = replace(seen, last_price=10.0)
    assert halfway(later) == pytest.approx(20.0)
    assert allocations(later, halfway(later)).sum() == pytest.approx(4.0)
    idle = replace(later, bids=np.zeros(2), reserve=15.0, last_price=20.0)
    assert halfway(idle) >= idle.reserve


def test_the_documented_placement_algorithm_is_one() -> None:
    """It leaves the large host to the lease that needs it, where the greedy takes the cheaper one."""
    smallest_first = example('placement algorithm')['smallest_first']
    hosts = machines(16, 4, base=[100.0, 200.0])
    wanted = asks(
        hosts, during(0, 10, cores=4, name='small'), during(5, 15, cores=16, name='large')
    )
    plan = smallest_first(wanted)
    assert [place and place.hosts for place in plan.places] == [(1,), (0,)]
    assert plan.rank < greedy_consistent(wanted).rank
    assert plan.cost == pytest.approx(
        placement_cost(hosts, wanted.leases, wanted.rates, plan.places)
    )


def test_every_namespace_of_plug_ins_is_in_the_table() -> None:
    """With one of its plug-ins as an example, as setup.cfg has them."""
    points = setup_cfg()['options.entry_points']
    start = 'nova_market.'
    lists = {key.removeprefix(start): points[key] for key in points if key.startswith(start)}
    installed = {key: set(re.findall(r'^(\w+) *=', text, re.M)) for key, text in lists.items()}
    text = (SOURCE / 'contributor/extending.rst').read_text(encoding='utf-8')
    table = text[
        text.index('Namespace ``nova_market.``') : text.index('A name that is not installed')
    ]
    rows = re.findall(r'^   \* - ``([\w.]+)``\n(.*?)(?=^   \* - |\Z)', table, re.M | re.S)
    shown = {name: set(re.findall(r';\s+``(\w+)``\n', row)) for name, row in rows}
    assert shown.keys() == installed.keys()
    assert [name for name in shown if not shown[name] or shown[name] - installed[name]] == []


def test_the_glossary_is_complete() -> None:
    """The words that guides, options and code use without explaining them."""
    text = (SOURCE / 'glossary.rst').read_text(encoding='utf-8')
    known = set(re.findall(r'^   (\S.*)$', text, re.MULTILINE))
    wanted = {' '.join(term.split()) for term in TERMS.split(',')}
    assert sorted(wanted - known) == []


def test_every_service_and_topic_is_in_the_glossary() -> None:
    """A reader who meets the name of a program or of a folder of services finds what it is about."""
    text = (SOURCE / 'glossary.rst').read_text(encoding='utf-8')
    assert sorted(unit for unit in units() if not re.search(rf'\b{unit}\b', text)) == []
    terms = re.findall(r'^   (\w.*)$', text, re.MULTILINE)
    topics = folders_of('services')
    assert len(topics) > 9
    assert [t for t in sorted(topics) if not any(term.startswith(t) for term in terms)] == []
