# SPDX-License-Identifier: Apache-2.0
"""The package says what it contains: entry points, requirements, documentation and tools agree."""

import ast
import configparser
import importlib
import itertools
import os
import re
import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib import metadata

import pytest
import yaml

from nova_market.cmd.extras import EXTRAS
from tests.style.test_layering import (
    BESIDE,
    PACKAGE,
    ROOT,
    SERVICES,
    dotted,
    imported,
    layer_of,
    modules,
    topic_of,
)

OPTIONAL = ('dask', 'leases', 'ray', 'redfish')
"""Extras of what is loaded when it is chosen, and then names its extra itself."""

NEEDS = {
    'nova.api.extra_spec_validators': 'scheduler',
    'nova_market.scheduler.filters': 'scheduler',
    'nova_market.scheduler.weighers': 'scheduler',
    'openstack.cli.extension': '',
    'openstack.market.v1': '',
    'oslo.config.opts.defaults': 'controller',
    'oslo.policy.enforcer': 'controller',
    'oslo.policy.policies': 'controller',
}
"""Group of entry points -> the extras, separated by commas, with which they load; other groups: service."""

WITHOUT_ENTRY_POINT = {
    'nova_market.adapters.power.redfish': 'controller,redfish',
    'nova_market.adapters.solver.highs': 'controller,leases',
    'nova_market.sim.scenario.workers': 'sim,dask,ray',
    'nova_market.wsgi.api': 'api',
}
"""Modules that something else than an entry point of this environment loads -> their extras."""


def setup_cfg() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / 'setup.cfg', encoding='utf-8')
    return parser


def declared_entry_points() -> list[tuple[str, str, str]]:
    return [
        (group, *re.split(r'\s*=\s*', line, maxsplit=1))
        for group, lines in setup_cfg()['options.entry_points'].items()
        for line in lines.split('\n')
        if line
    ]


def units() -> set[str]:
    """Names of all services that have a unit."""
    found = {path.stem for path in (ROOT / 'etc/systemd').glob('*.service')}
    assert len(found) > 5
    return found


def requirement_names(*files: str) -> set[str]:
    lines = [line for name in files for line in (ROOT / name).read_text().splitlines()]
    return named(lines)


def normalized(name: str) -> str:
    return re.sub(r'[-_.]+', '-', name).lower()


def extra_lines() -> dict[str, list[str]]:
    """Extra -> its lines as they are written."""
    return {
        extra: [line for line in lines.splitlines() if line]
        for extra, lines in setup_cfg()['options.extras_require'].items()
    }


def included(extras: Iterable[str]) -> set[str]:
    """These extras, and those that they name as nova-market[EXTRA]."""
    found: set[str] = set()
    waiting = [extra for extra in extras if extra]
    while waiting:
        extra = waiting.pop()
        found.add(extra)
        for line in extra_lines()[extra]:
            waiting += re.findall(r'^nova-market\[(\w+)\]', line)
    return found


def named(lines: Iterable[str]) -> set[str]:
    """The distributions of lines of requirements, normalized, without this one."""
    found = {match[0] for line in lines if (match := re.match(r'[A-Za-z][\w.-]*', line))}
    return {normalized(name) for name in found} - {'nova-market'}


def required(extras: Iterable[str]) -> set[str]:
    """What is installed with these extras of the package, without what that needs in turn."""
    lines = [line for extra in included(extras) for line in extra_lines()[extra]]
    return named(lines) | requirement_names('requirements.txt')


@cache
def imports() -> dict[str, set[str]]:
    """Module of ours -> what it imports; `from a import b` is a and a.b, as b may be a module."""
    found: dict[str, set[str]] = {}
    for path in modules():
        names = found[dotted(path)] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                assert node.level == 0
                names |= {node.module, *(f'{node.module}.{alias.name}' for alias in node.names)}
    return found


provided_by = cache(metadata.packages_distributions)
"""Top-level module -> the distributions that have it."""


def third_parties(root: str) -> set[str]:
    """Normalized distributions of what a module of ours and all below it import, wherever in their code."""
    seen: set[str] = set()
    others: set[str] = set()
    waiting = {root}
    while waiting:
        name = waiting.pop()
        top = name.partition('.')[0]
        if top == PACKAGE:
            # with a module its packages are loaded
            parts = name.split('.')
            parents = {'.'.join(parts[:count]) for count in range(1, len(parts) + 1)}
            for module in (parents & imports().keys()) - seen:
                seen.add(module)
                waiting |= imports()[module]
        # the agents in guests are files side by side, which import each other by name
        elif top not in sys.stdlib_module_names | BESIDE:
            others.add(top)
    return {normalized(name) for top in others for name in provided_by().get(top, [top])}


def loaded() -> dict[str, list[str]]:
    """Module that an entry point or WITHOUT_ENTRY_POINT names -> the extras that have what it imports."""
    found = {module: extras.split(',') for module, extras in WITHOUT_ENTRY_POINT.items()}
    # its entry point names the plug-in; Tempest finds the tests in a directory, and the client by its name
    found |= {name: ['tempest'] for name in imports() if layer_of(name) == 'tempest_plugin'}
    for group, name, target in declared_entry_points():
        is_program = group == 'console_scripts'
        extras = EXTRAS.get(name, '') if is_program else NEEDS.get(group, 'service')
        found.setdefault(target.partition(':')[0], extras.split(','))
    return found


def of_this_environment() -> list[tuple[str, str, str]]:
    """Without plug-ins of Nova, which is not here; tests/nova loads those."""
    return [e for e in declared_entry_points() if not e[2].startswith(f'{PACKAGE}.scheduler.')]


@pytest.mark.parametrize(
    ('group', 'name', 'target'), of_this_environment(), ids=lambda value: str(value)
)
def test_an_entry_point_leads_to_something(group: str, name: str, target: str) -> None:
    """Each entry point names a module that imports and an attribute it has."""
    module, _, attribute = target.partition(':')
    found = importlib.import_module(module)
    # a plug-in of openstackclient is the module itself
    assert not attribute or callable(getattr(found, attribute)), f'{group}: {name}'


def test_the_installed_package_has_the_entry_points_of_this_tree() -> None:
    """An environment that was made before an entry point was added would not find the plug-in."""
    installed = {
        (e.group, e.name, e.value) for e in metadata.distribution('nova-market').entry_points
    }
    assert set(declared_entry_points()) <= installed, 'install again: pip install -e .'


def test_every_program_has_an_extra() -> None:
    """All but the agents in guests, which need the standard library."""
    programs = {
        name: target
        for group, name, target in declared_entry_points()
        if group == 'console_scripts'
    }
    in_guests = {name for name, target in programs.items() if layer_of(target) == 'guest_agent'}
    assert EXTRAS.keys() == programs.keys() - in_guests
    assert {
        extra for extras in EXTRAS.values() for extra in extras.split(',')
    } <= extra_lines().keys()


@pytest.mark.parametrize('module', loaded())
def test_every_import_is_required(module: str) -> None:
    """What can be imported is installed with the extras of the program, or of the plug-in, that loads it."""
    # Nova is there where it loads plug-ins
    there = required([*loaded()[module], *OPTIONAL]) | {'nova'}
    assert third_parties(module) - there == set()


def test_no_import_is_overlooked() -> None:
    """A library that no entry point leads to would be in no extra."""
    names = {name.partition('.')[0] for found in imports().values() for name in found}
    others = names - {PACKAGE} - sys.stdlib_module_names - BESIDE
    found = {normalized(name) for top in others for name in provided_by().get(top, [top])}
    assert found - required(extra_lines()) == {'nova'}


@pytest.mark.parametrize('extra', extra_lines())
def test_every_requirement_is_imported(extra: str) -> None:
    """An extra asks nothing of a user that what it is for does not use."""
    used = [
        third_parties(module) for module, extras in loaded().items() if extra in included(extras)
    ]
    assert named(extra_lines()[extra]) - set().union(*used) == set()


def test_the_client_asks_for_nothing_else() -> None:
    """requirements.txt has what the commands and the SDK import. pbr is what everything is built with."""
    used = [third_parties(name) for name, extras in loaded().items() if extras == ['']]
    assert requirement_names('requirements.txt') == set().union(*used) | {'pbr'}


def test_requirements_state_bound_and_licence() -> None:
    """Each requirement has a lower bound and its licence, and the same ones wherever it is named."""
    lines = (ROOT / 'requirements.txt').read_text().splitlines()
    stated: dict[str, set[str]] = {}
    for line in [*lines, *itertools.chain(*extra_lines().values())]:
        if line and not line.startswith(('#', 'nova-market[')):
            assert re.fullmatch(r'[\w.\[\]-]+>=[\d.]+ # \S.*', line), line
            stated.setdefault(re.split(r'[\[>]', line)[0], set()).add(line)
    assert [lines for lines in stated.values() if len(lines) > 1] == []


def test_constraints_pin_every_requirement() -> None:
    """The tested version of each direct requirement is known."""
    wanted = requirement_names('requirements.txt', 'test-requirements.txt', 'doc/requirements.txt')
    wanted |= required(extra_lines().keys() - {'ray'})
    assert wanted - requirement_names('constraints.txt') == set()


def test_the_tests_have_all_extras() -> None:
    """One list, which bash, tox and Python read, of what CI installs. A Ray cluster is in no test."""
    wanted = ','.join(sorted(extra_lines().keys() - {'controller', 'ray', 'scheduler', 'service'}))
    assert {'controller', 'service', 'api'} <= included(wanted.split(','))
    bootstrap, pins, tox = (
        (ROOT / name).read_text() for name in ('tools/bootstrap.sh', 'tools/pins', 'tox.ini')
    )
    assert f'\nEXTRAS={wanted}\n' in bootstrap
    assert f"'.[{wanted}]'" in pins
    assert f'\nextras = {wanted}\n' in tox


def test_metadata_uses_the_names_of_setuptools() -> None:
    """pbr 7 deprecated its own sections and keys; a build must not warn."""
    parser = setup_cfg()
    assert not {'files', 'entry_points', 'backwards_compat'} & set(parser.sections())
    old = {'summary', 'home_page', 'classifier', 'python_requires', 'description_file'}
    assert not old & {key.replace('-', '_') for key in parser['metadata']}


def wirings_of(program: str) -> set[str]:
    """Which services' wiring a program imports."""
    (module,) = (
        target.partition(':')[0] for _, name, target in declared_entry_points() if name == program
    )
    path = ROOT / f'{module.replace(".", "/")}.py'
    names = imported(path.read_text(encoding='utf-8'), module, is_package=False)
    return {topic_of(name) for _, name in names if layer_of(name) == 'wiring'} & SERVICES


def test_every_service_has_a_wiring_of_its_own() -> None:
    """One for each program that has a unit: a new service needs its place among them."""
    wirings = [wirings_of(program) for program in units()]
    assert all(len(one) == 1 for one in wirings)
    assert set().union(*wirings) == SERVICES
    assert len(wirings) == len(SERVICES)


def test_files_that_are_no_modules_are_declared() -> None:
    """A wheel of a tree without git has them too, such as the agent in shell that workers get."""
    declared = {
        f'{package.replace(".", "/")}/{name}'
        for package, names in setup_cfg()['options.package_data'].items()
        for name in names.split()
    }
    others = {
        str(path.relative_to(ROOT))
        for path in (ROOT / PACKAGE).rglob('*')
        if path.is_file() and path.suffix not in {'.py', '.pyc'}
    }
    assert others == declared


def test_a_version_is_known() -> None:
    """That of setup.cfg, to which pbr adds the number of commits in a clone."""
    assert metadata.version('nova-market').startswith(setup_cfg()['metadata']['version'])


def test_the_hook_checks_types_whatever_file_changes() -> None:
    """mypy checks the whole package, and runs when any file of it has changed."""
    hooks = yaml.safe_load((ROOT / '.pre-commit-config.yaml').read_text())['repos'][0]['hooks']
    (mypy,) = (hook for hook in hooks if hook['id'] == 'mypy')
    with (ROOT / 'pyproject.toml').open('rb') as file:
        assert tomllib.load(file)['tool']['mypy']['files'] == [PACKAGE]
    changed = [str(path.relative_to(ROOT)) for path in (ROOT / PACKAGE).rglob('*.py')]
    assert [path for path in changed if not re.search(mypy['files'], path)] == []


def test_every_marker_has_a_tox_environment() -> None:
    """What a plain pytest leaves out can be run by name."""
    with (ROOT / 'pyproject.toml').open('rb') as file:
        options = tomllib.load(file)['tool']['pytest']['ini_options']
    marks = {re.split(r'[(:]', marker)[0] for marker in options['markers']}
    tox = configparser.ConfigParser()
    tox.read(ROOT / 'tox.ini', encoding='utf-8')
    assert {f'testenv:{mark}' for mark in marks} <= set(tox.sections())


@pytest.mark.parametrize('tool', ['tools/test', 'tools/demo', '.ci/run'])
def test_the_scripts_are_executable(tool: str) -> None:
    """The commands of README.rst work as they are written."""
    assert os.access(ROOT / tool, os.X_OK)
