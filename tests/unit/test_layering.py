# SPDX-License-Identifier: Apache-2.0
"""Imports point inwards: cmd -> services, adapters, sim -> ports -> core.

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

SERVICES = frozenset({'fairness', 'exchange', 'market', 'scaling', 'tender', 'job', 'lease'})
LEAVES = frozenset({'core', 'errors'})

# layer -> the layers of ours it may import, besides itself
MAY_IMPORT: dict[str, frozenset[str]] = {
    'errors': frozenset(),
    'agent': frozenset(),
    'core': frozenset({'errors'}),
    'ports': LEAVES,
    'conf': LEAVES,
    'db': LEAVES | {'ports', 'conf'},
    'adapters': LEAVES | {'ports', 'conf', 'db'},
    'scheduler': LEAVES | {'ports', 'conf'},
    'api': LEAVES | {'ports', 'conf'} | SERVICES,
    'sdk': LEAVES,
    'osc': LEAVES | {'sdk'},
    'sim': LEAVES | {'ports', 'conf', 'adapters'} | SERVICES,
    'cmd': LEAVES | {'ports', 'conf', 'adapters', 'sim', 'api', 'db'} | SERVICES,
    'wsgi': frozenset({'errors', 'cmd'}),
} | {service: LEAVES | {'ports', 'conf'} for service in SERVICES}

# distribution's module -> the layers that may import it; the others may not
ONLY_IN: dict[str, frozenset[str]] = {
    'libvirt': frozenset({'adapters'}),
    'pyroute2': frozenset({'adapters'}),
    'zmq': frozenset({'adapters'}),
    'oslo_messaging': frozenset({'adapters', 'cmd'}),
    'tooz': frozenset({'adapters'}),
    'openstack': frozenset({'adapters', 'osc', 'sdk'}),
    'keystoneauth1': frozenset({'adapters', 'conf', 'osc', 'scheduler'}),
    'osc_lib': frozenset({'osc'}),
    'cliff': frozenset({'osc'}),
    'flask': frozenset({'api'}),
    'oslo_policy': frozenset({'api'}),
    'jsonschema': frozenset({'api', 'sim'}),
    'msgspec': frozenset({'adapters'}),
    'yaml': frozenset({'osc', 'sim'}),
    'keystonemiddleware': frozenset({'adapters'}),
    'sqlalchemy': frozenset({'adapters', 'db'}),
    'oslo_db': frozenset({'adapters', 'conf', 'db'}),
    'alembic': frozenset({'adapters', 'db'}),
    'oslo_service': SERVICES | {'cmd'},
    'matplotlib': frozenset({'sim'}),
    'pyarrow': frozenset({'sim'}),
    'distributed': frozenset({'sim'}),
    'ray': frozenset({'sim'}),
    'nova': frozenset({'scheduler'}),
    'eventlet': frozenset(),
}

CORE_THIRD_PARTY = frozenset({'numpy'})


def layer_of(module: str) -> str:
    """The layer a module of ours belongs to: the first name below the package ('' for the package)."""
    return [*module.split('.'), ''][1]


def imported(source: str, module: str, *, is_package: bool) -> Iterator[tuple[int, str]]:
    """Line and absolute name of everything a module imports, relative imports resolved."""
    parents = module.split('.') if is_package else module.split('.')[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = parents[: len(parents) - node.level + 1] if node.level else []
            origin = '.'.join([*start, *([node.module] if node.module else [])])
            # "from nova_market import adapters" imports a layer by name
            if origin == PACKAGE:
                yield from ((node.lineno, f'{origin}.{alias.name}') for alias in node.names)
            else:
                yield node.lineno, origin


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
        elif layer not in ONLY_IN.get(top, frozenset({layer})):
            allowed = ', '.join(sorted(ONLY_IN[top])) or 'nowhere'
            found.append(f'{where}: {name} is imported in {layer or PACKAGE}; allowed: {allowed}')
        elif layer in {'core', 'errors'} and top not in CORE_THIRD_PARTY | sys.stdlib_module_names:
            found.append(f'{where}: {layer} imports {name}, which is not stdlib or numpy')
        elif layer == 'agent' and top not in sys.stdlib_module_names:
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


@pytest.mark.parametrize(
    ('module', 'source'),
    [
        ('nova_market.core.share', 'import nova_market.ports'),
        ('nova_market.core.share', 'from .. import adapters'),
        ('nova_market.core.share', 'import scipy'),
        ('nova_market.core.share', 'from oslo_log import log'),
        ('nova_market.ports', 'from nova_market.adapters import memory'),
        ('nova_market.fairness.round', 'from nova_market.adapters.memory import LocalExchange'),
        ('nova_market.fairness.round', 'from ..adapters import memory'),
        ('nova_market.fairness.round', 'def f():\n    import libvirt'),
        ('nova_market.fairness.round', 'import oslo_messaging'),
        ('nova_market.fairness.round', 'from nova.virt import driver'),
        ('nova_market.adapters.netlink', 'import nova_market.fairness.round'),
        ('nova_market.adapters.netlink', 'import nova'),
        ('nova_market.sim.engine', 'import nova_market.cmd.fairness'),
        ('nova_market.sim.testbed.host', 'import libvirt'),
        ('nova_market.cmd.fairness', 'import pyroute2'),
        ('nova_market.cmd.fairness', 'import eventlet'),
        ('nova_market.agent.report', 'import requests'),
        ('nova_market.agent.report', 'from nova_market.core import money'),
    ],
)
def test_a_forbidden_import_is_found(module: str, source: str) -> None:
    """The rules can fail: each of these lines is refused in that place."""
    assert len(violations(source, module)) == 1


@pytest.mark.parametrize(
    ('module', 'source'),
    [
        ('nova_market.core.share', 'import math\nimport numpy as np\nfrom . import quantity'),
        ('nova_market.adapters.libvirt_host', 'import libvirt\nfrom nova_market import ports'),
        ('nova_market.cmd.fairness', 'from nova_market.adapters import messaging'),
        ('nova_market.scheduler.weighers', 'from nova.scheduler import weights'),
        ('nova_market.sim.engine', 'from nova_market.fairness import round'),
    ],
)
def test_an_allowed_import_passes(module: str, source: str) -> None:
    """What the layering is for stays possible."""
    assert violations(source, module) == []


@pytest.mark.parametrize('path', modules(), ids=dotted)
def test_a_file_is_short_and_says_its_licence(path: Path) -> None:
    """At most 400 lines, functions of at most 50, the licence in the first line, then a docstring."""
    source = path.read_text(encoding='utf-8')
    tree = ast.parse(source)
    lines = source.splitlines()
    assert len(lines) <= 400, f'{path} has {len(lines)} lines: split it by noun'
    if not lines:
        return
    assert lines[0] == '# SPDX-License-Identifier: Apache-2.0'
    if path.name != '__init__.py':
        assert ast.get_docstring(tree), f'{path} has no module docstring'
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= 50, f'{path}: {node.name} has {length} lines'
