# SPDX-License-Identifier: Apache-2.0
"""Imports point inwards: cmd -> wiring -> services, adapters, sim -> ports -> core; inside core by topic.

The imports are read from the syntax tree, so one inside a function or under TYPE_CHECKING counts too.
The rules and their reasons are in doc/source/contributor/layering.rst.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = 'nova_market'
ROOT = Path(__file__).resolve().parents[2]

LEAVES = frozenset({'core', 'errors', 'outage_log', 'row_boundary'})

# layer -> the layers of ours it may import, besides itself
MAY_IMPORT: dict[str, frozenset[str]] = {
    'errors': frozenset(),
    'outage_log': frozenset(),
    'row_boundary': frozenset({'core', 'errors', 'outage_log'}),
    'guest_agent': frozenset(),
    'core': frozenset({'errors'}),
    'plugins': frozenset({'errors'}),
    'document_check': LEAVES,
    'http_deadline': LEAVES,
    'ports': LEAVES,
    'conf': LEAVES,
    'db': LEAVES | {'ports', 'conf'},
    'services': LEAVES | {'ports', 'conf', 'plugins'},
    'adapters': LEAVES | {'ports', 'conf', 'db', 'http_deadline'},
    'scheduler': LEAVES | {'ports', 'conf', 'http_deadline'},
    'api': LEAVES | {'ports', 'conf', 'services', 'document_check'},
    'sdk': LEAVES,
    'osc': LEAVES | {'sdk'},
    'sim': LEAVES | {'ports', 'conf', 'adapters', 'services', 'plugins', 'document_check'},
    'tempest_plugin': frozenset(),
    'testbed': LEAVES,
    'experiments': LEAVES | {'ports', 'conf', 'adapters', 'services', 'plugins', 'sim', 'testbed'},
    'wiring': LEAVES | {'ports', 'conf', 'adapters', 'services', 'plugins', 'sim', 'api', 'db'},
    'playground': LEAVES | {'ports', 'conf', 'adapters', 'services', 'api', 'db', 'wiring'},
    'cmd': LEAVES
    | {'ports', 'conf', 'adapters', 'services', 'plugins', 'sim', 'api', 'db'}
    | {'experiments', 'playground', 'wiring'},
    'wsgi': frozenset({'errors', 'wiring'}),
}

SERVICES = frozenset({'agent', 'api', 'controller', 'engine', 'jobs', 'leases', 'notices'})
"""Modules of wiring that put one service together each. What several services need is in the others."""

# The topics of core, from the inside out: a topic imports those of earlier lines only, and itself.
TOPICS: tuple[frozenset[str], ...] = (
    frozenset({'resource', 'service_type', 'set_aside', 'text', 'timestamp'}),
    frozenset({'json_schema', 'row_check'}),
    frozenset({'ledger', 'host', 'share', 'notice'}),
    frozenset({'calendar', 'market', 'usage'}),
    frozenset({'scheduler', 'rebalancing', 'exchange'}),
    frozenset({'job', 'lease'}),
    frozenset({'tender', 'power'}),
    frozenset({'app', 'fairness'}),
)

# distribution's module -> the layers that may import it; the others may not
ONLY_IN: dict[str, frozenset[str]] = {
    'libvirt': frozenset({'adapters'}),
    'pyroute2': frozenset({'adapters'}),
    'zmq': frozenset({'adapters'}),
    'oslo_messaging': frozenset({'adapters', 'cmd'}),
    'tooz': frozenset({'adapters'}),
    'sushy': frozenset({'adapters'}),
    'openstack': frozenset({'adapters', 'osc', 'sdk'}),
    'keystoneauth1': frozenset({'adapters', 'conf', 'osc', 'scheduler'}),
    'osc_lib': frozenset({'osc'}),
    'cliff': frozenset({'osc'}),
    'flask': frozenset({'api', 'playground'}),
    'oslo_policy': frozenset({'api'}),
    'jsonschema': frozenset({'document_check'}),
    'msgspec': frozenset({'adapters', 'core'}),
    'yaml': frozenset({'osc', 'sim', 'experiments'}),
    'keystonemiddleware': frozenset({'adapters'}),
    'sqlalchemy': frozenset({'adapters', 'db'}),
    'oslo_db': frozenset({'adapters', 'conf', 'db'}),
    'alembic': frozenset({'adapters', 'db'}),
    'oslo_service': frozenset({'services', 'cmd'}),
    'stevedore': frozenset({'plugins', 'wiring', 'sim', 'scheduler'}),
    'matplotlib': frozenset({'sim', 'experiments'}),
    'pyarrow': frozenset({'sim', 'experiments'}),
    'scipy': frozenset({'adapters', 'sim'}),
    'distributed': frozenset({'sim'}),
    'ray': frozenset({'sim'}),
    'nova': frozenset({'scheduler'}),
    'tempest': frozenset({'tempest_plugin'}),
    'eventlet': frozenset(),
}

CORE_THIRD_PARTY = frozenset({'numpy'})
PURE = frozenset({'core', 'errors', 'outage_log', 'row_boundary'})


# distribution's module -> the topics of core that may import it: they define what machines send each other
CORE_TOPIC_THIRD_PARTY = {'msgspec': frozenset({'exchange', 'scheduler', 'tender'})}


def core_may_import(module: str, top: str) -> bool:
    """May this module of core import this distribution or standard module?"""
    if topic_of(module) in CORE_TOPIC_THIRD_PARTY.get(top, frozenset()):
        return True
    return top in CORE_THIRD_PARTY | sys.stdlib_module_names


def layer_of(module: str) -> str:
    """The layer a module of ours belongs to: the first name below the package ('' for the package)."""
    return [*module.split('.'), ''][1]


def topic_of(module: str) -> str:
    """The second name below the package: the topic of core, or the module of wiring, of a module."""
    return [*module.split('.'), '', ''][2]


def inwards(module: str, name: str) -> bool:
    """Does an import within core stay in its topic, or go to one of an earlier line?"""
    ranks = {topic: rank for rank, line in enumerate(TOPICS) for topic in line}
    own, other = topic_of(module), topic_of(name)
    return own == other or not other or ranks[other] < ranks[own]


def imported(source: str, module: str, *, is_package: bool) -> Iterator[tuple[int, str]]:
    """Line and absolute name of everything a module imports, relative imports resolved."""
    parents = module.split('.') if is_package else module.split('.')[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = parents[: len(parents) - node.level + 1] if node.level else []
            origin = '.'.join([*start, *([node.module] if node.module else [])])
            # "from nova_market import adapters" imports a layer by name, as wiring's modules often are
            if origin in {PACKAGE, f'{PACKAGE}.wiring'}:
                yield from ((node.lineno, f'{origin}.{alias.name}') for alias in node.names)
            else:
                yield node.lineno, origin


BESIDE = frozenset(path.stem for path in (ROOT / PACKAGE / 'guest_agent').glob('*.py'))
"""Files that are copied into a guest together import each other by these names."""


def violations(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """What a module imports against the rules, one sentence each."""
    layer = layer_of(module)
    found = []
    for line, name in imported(source, module, is_package=is_package):
        top = name.split('.')[0]
        where = f'{module}:{line}'
        if top == PACKAGE:
            other = layer_of(name)
            if other and other != layer and other not in MAY_IMPORT.get(layer, frozenset()):
                found.append(f'{where}: {layer or PACKAGE} may not import {name}')
            elif layer == other == 'core' and not inwards(module, name):
                found.append(f'{where}: topic {topic_of(module)} may not import {name}')
            elif layer == other == 'wiring' and topic_of(name) in SERVICES - {topic_of(module)}:
                found.append(
                    f'{where}: {name} is of one service: move what is needed to a module of its own'
                )
        elif layer not in ONLY_IN.get(top, frozenset({layer})):
            allowed = ', '.join(sorted(ONLY_IN[top])) or 'nowhere'
            found.append(f'{where}: {name} is imported in {layer or PACKAGE}; allowed: {allowed}')
        elif layer in PURE and not core_may_import(module, top):
            found.append(f'{where}: {layer} imports {name}, which is not stdlib or numpy')
        elif layer == 'guest_agent' and top not in sys.stdlib_module_names | BESIDE:
            found.append(f'{where}: {name} is not stdlib: a guest has nothing else')
    return found


def modules() -> list[Path]:
    return sorted((ROOT / PACKAGE).rglob('*.py'))


def dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix('').parts
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


@pytest.mark.parametrize('path', modules(), ids=dotted)
def test_imports_point_inwards(path: Path) -> None:
    """No module imports a layer outside its own, or a library that belongs to another layer."""
    is_package = path.name == '__init__.py'
    source = path.read_text(encoding='utf-8')
    assert violations(source, dotted(path), is_package=is_package) == []


@pytest.mark.parametrize('path', modules(), ids=dotted)
def test_every_layer_is_known(path: Path) -> None:
    """A new directory needs its rule: without one nothing would be checked."""
    assert layer_of(dotted(path)) in {'', *MAY_IMPORT}


@pytest.mark.parametrize('path', sorted((ROOT / PACKAGE / 'core').iterdir()), ids=lambda p: p.stem)
def test_every_topic_is_known(path: Path) -> None:
    """A new topic of core needs its place in the order."""
    topics = {topic for line in TOPICS for topic in line}
    assert path.stem in topics | {'__init__', '__pycache__'}


@pytest.mark.parametrize(
    ('module', 'source'),
    [
        ('nova_market.core.share', 'import nova_market.ports'),
        ('nova_market.core.share', 'from .. import adapters'),
        ('nova_market.core.share', 'import scipy'),
        ('nova_market.core.share', 'import msgspec'),
        ('nova_market.core.share', 'from oslo_log import log'),
        ('nova_market.core.share', 'from nova_market import outage_log'),
        ('nova_market.outage_log', 'from oslo_log import log'),
        ('nova_market.core.market.price', 'from nova_market.core.fairness import heaviness'),
        ('nova_market.core.exchange.totals', 'import nova_market.core.rebalancing.plan'),
        ('nova_market.ports', 'from nova_market.adapters import in_memory'),
        (
            'nova_market.services.fairness.agent',
            'from nova_market.adapters.in_memory.host import LocalExchange',
        ),
        ('nova_market.services.fairness.agent', 'from ...adapters import in_memory'),
        ('nova_market.services.fairness.agent', 'def f():\n    import libvirt'),
        ('nova_market.services.fairness.agent', 'import oslo_messaging'),
        ('nova_market.services.fairness.agent', 'from nova.virt import driver'),
        ('nova_market.adapters.control.network', 'import nova_market.services.fairness.agent'),
        ('nova_market.adapters.control.network', 'import nova'),
        ('nova_market.sim.engine', 'import nova_market.cmd.fairness'),
        ('nova_market.wiring.jobs', 'from nova_market.wiring.api import job_limits'),
        ('nova_market.wiring.controller', 'from nova_market.wiring import engine'),
        ('nova_market.wiring.limits_in_use', 'from . import api'),
        ('nova_market.testbed.host', 'import libvirt'),
        ('nova_market.cmd.fairness', 'import pyroute2'),
        ('nova_market.cmd.fairness', 'import eventlet'),
        ('nova_market.guest_agent.report', 'import requests'),
        ('nova_market.guest_agent.report', 'from nova_market.core import money'),
    ],
)
def test_a_forbidden_import_is_found(module: str, source: str) -> None:
    """The rules can fail: each of these lines is refused in that place."""
    assert len(violations(source, module)) == 1


@pytest.mark.parametrize(
    ('module', 'source'),
    [
        ('nova_market.core.share', 'import math\nimport numpy as np\nfrom . import resource'),
        (
            'nova_market.adapters.hypervisor.libvirt_host',
            'import libvirt\nfrom nova_market import ports',
        ),
        ('nova_market.cmd.fairness', 'from nova_market.adapters.transport import oslo'),
        ('nova_market.scheduler.weighers', 'from nova.scheduler import weights'),
        ('nova_market.sim.engine', 'from nova_market.services.fairness import agent'),
        ('nova_market.wiring.jobs', 'from nova_market.wiring import job_settings, standing'),
        ('nova_market.cmd.jobs', 'from nova_market.wiring import jobs'),
    ],
)
def test_an_allowed_import_passes(module: str, source: str) -> None:
    """What the layering is for stays possible."""
    assert violations(source, module) == []


LONGEST = {'nova_market.guest_agent.report': 420, 'nova_market.guest_agent.worker': 750}
"""Lines of a file, 400 otherwise. A guest gets each of these as a single file."""


@pytest.mark.parametrize('path', modules(), ids=dotted)
def test_a_file_is_short_and_says_its_licence(path: Path) -> None:
    """At most 400 lines, functions of at most 50, the licence in the first line, then a docstring."""
    source = path.read_text(encoding='utf-8')
    tree = ast.parse(source)
    lines = source.splitlines()
    assert len(lines) <= LONGEST.get(dotted(path), 400), (
        f'{path} has {len(lines)} lines: split it by noun'
    )
    if not lines:
        return
    assert lines[0] == '# SPDX-License-Identifier: Apache-2.0'
    if path.name != '__init__.py':
        assert ast.get_docstring(tree), f'{path} has no module docstring'
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= 50, f'{path}: {node.name} has {length} lines'
