# SPDX-License-Identifier: Apache-2.0
"""What the documentation states about the code, and the code about the documentation, is true."""

import re
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
from tests.style.test_layering import MAY_IMPORT, ROOT, TOPICS
from tests.support.app_builders import applications
from tests.support.job_builders import Job, snapshot

SOURCE = ROOT / 'doc/source'
RULE = re.compile(r'^([A-Z]\d+)\. ', re.MULTILINE)
CITED = re.compile(r'\b(?:[Rr]ules?|and|to|,|\() ?([ABCDFHMPS]\d{1,2})\b(?![.-]\d)')
TREE = re.compile(r'(?<![\w/.])((?:nova_market|tests|tools|doc|contrib|etc|devstack)/[\w./-]*\w)')
TERMS = """
    account, actual quota, aggregator, allocation, application, base weight, bid, booking, budget,
    calendar, confirmation, conflict, controller, credit, deadband, delta, endowment, engine,
    entitlement, error, escrow, full update, greediness, heaviness, host, interval, ledger, mint,
    move, owner, partial sum, period, plan, policy, price, rendezvous hashing, reserve price, round,
    snapshot, totals, weight
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


@pytest.mark.parametrize('page', ['architecture', 'layering', 'extending'])
def test_the_paths_a_page_names_exist(page: str) -> None:
    """Paths of the tree; those that a contributor is to add have an angle bracket or capitals."""
    text = (SOURCE / f'contributor/{page}.rst').read_text(encoding='utf-8')
    assert sorted(path for path in set(TREE.findall(text)) if not (ROOT / path).exists()) == []


def test_every_layer_is_in_the_table() -> None:
    """layering.rst has the layers that test_layering.py enforces, and no others."""
    text = (SOURCE / 'contributor/layering.rst').read_text(encoding='utf-8')
    rows = re.findall(r'^   \* - (``.*``)$', text, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r'``(\w+)``', row)} == set(MAY_IMPORT)


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


def test_the_glossary_is_complete() -> None:
    """The words that guides, options and code use without explaining them."""
    text = (SOURCE / 'glossary.rst').read_text(encoding='utf-8')
    known = set(re.findall(r'^   (\S.*)$', text, re.MULTILINE))
    wanted = {' '.join(term.split()) for term in TERMS.split(',')}
    assert sorted(wanted - known) == []
