# SPDX-License-Identifier: Apache-2.0
"""The package says what it contains: entry points, requirements, documentation and tools agree."""

import ast
import configparser
import importlib
import os
import re
import sys
import tomllib
from importlib import metadata

import pytest
import yaml

from tests.style.test_layering import PACKAGE, ROOT, SERVICES, imported, layer_of, topic_of

OPTIONAL = {'nova', 'ray'}
"""Imported by plug-ins that run inside it only, and by sweeps on a Ray cluster (extra `ray`)."""


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
    return {
        match[0].lower().replace('_', '-').replace('.', '-')
        for line in lines
        if (match := re.match(r'[A-Za-z][\w.-]*', line))
    }


def third_party_imports() -> dict[str, str]:
    """Top-level module -> a file that imports it."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / PACKAGE).rglob('*.py')):
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names = [node.module]
            for name in names:
                # the agents in guests are files side by side, which import each other by name
                if not (path.parent / f'{name}.py').exists():
                    found[name.split('.')[0]] = str(path.relative_to(ROOT))
    return {m: p for m, p in found.items() if m not in {PACKAGE, *sys.stdlib_module_names}}


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


def test_every_import_is_required() -> None:
    """What the code imports is in requirements.txt, so a user's installation has it."""
    required = requirement_names('requirements.txt') | {
        re.split(r'[<>=!~ ]', line)[0]
        for lines in setup_cfg()['options.extras_require'].values()
        for line in lines.split()
    }
    provided_by = metadata.packages_distributions()
    missing = {}
    for module, path in third_party_imports().items():
        names = {n.lower().replace('_', '-').replace('.', '-') for n in provided_by.get(module, [])}
        if module not in OPTIONAL and not names & required:
            missing[module] = path
    assert missing == {}


def test_every_requirement_is_imported() -> None:
    """requirements.txt asks nothing of a user that the code does not use."""
    provided_by = metadata.packages_distributions()
    used = {
        name.lower().replace('_', '-').replace('.', '-')
        for module in third_party_imports()
        for name in provided_by.get(module, [])
    }
    # pbr builds; keystoneauth1's plug-ins and openstacksdk's session come as one
    assert requirement_names('requirements.txt') - used <= {'pbr'}


def test_requirements_state_bound_and_licence() -> None:
    """Each requirement has a lower bound and its licence."""
    for line in (ROOT / 'requirements.txt').read_text().splitlines():
        if line and not line.startswith('#'):
            assert re.fullmatch(r'[\w.\[\]-]+>=[\d.]+ # \S.*', line), line


def test_constraints_pin_every_requirement() -> None:
    """The tested version of each direct requirement is known."""
    wanted = requirement_names('requirements.txt', 'test-requirements.txt', 'doc/requirements.txt')
    assert wanted - requirement_names('constraints.txt') == set()


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
    """One for each program that has a unit, and for the API: a new service needs its place among them."""
    wirings = [wirings_of(program) for program in {*units(), 'nova-market-api'}]
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
