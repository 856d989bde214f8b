# SPDX-License-Identifier: Apache-2.0
"""Commands that pages, help and messages print can be pasted into a shell."""

import re
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path

import pytest

from tests.style.test_layering import ROOT

UNRELEASED = re.compile(r'pip\S* install (?:[^\n`]*\s)?(?<!of )["\']?nova[-_]market\b(?![-\w])')
"""The package by its name: there is no release, so pip finds nothing, or what somebody else has put there."""
PROGRAM = r'(?:\./|\S*/)?(?:openstack|pip3?|curl|tools/\w+|nova-(?:market|fairness)[a-z-]*) '
SPAN = re.compile(rf'``(?:[$#] )?({PROGRAM}[^`]+)``')
LINE = re.compile(rf'^\s+(?:[$#] )?({PROGRAM}(?:[^\n]*\\\n)*[^\n]*)$', re.MULTILINE)
QUOTED = re.compile(r'\'[^\']*\'|"[^"]*"|\\.', re.DOTALL)
QUOTED_PATTERN = re.compile(r"'[^'\s]*\*[^'\s]*'")
GLOB = re.compile(r'\*|\w\?|[\w.]\[[\w,-]+\]')
"""What a shell replaces by names of files; zsh refuses the command when there are none."""


def pages() -> list[Path]:
    """All that is read as documentation, and code, whose docstrings are the help of commands."""
    found = chain(
        *(ROOT.glob(pattern) for pattern in ('*.rst', 'doc/source/**/*.rst', 'devstack/*.rst')),
        *(ROOT.glob(pattern) for pattern in ('api-ref/**/*.inc', 'nova_market/**/*.py')),
        ROOT.glob('releasenotes/notes/*.yaml'),
    )
    return sorted(found)


def expanded(text: str) -> list[str]:
    """The commands in this text of which a shell would make others."""
    spans = (' '.join(span.split()) for span in SPAN.findall(text))
    return [one for one in (*spans, *LINE.findall(text)) if GLOB.search(QUOTED.sub('', one))]


def helps() -> dict[str, str]:
    """What each command of `openstack market` prints for --help."""
    return {
        entry.name: entry.load()(None, None).get_parser(entry.name).format_help()
        for entry in entry_points(group='openstack.market.v1')
    }


def names(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_patterns_in_commands_are_quoted() -> None:
    """A shell would give the command names of files in place of the pattern."""
    found = {names(page): expanded(page.read_text(encoding='utf-8')) for page in pages()}
    assert len(found) > 500, 'the patterns find too few pages'
    assert {name: commands for name, commands in found.items() if commands} == {}


def test_patterns_in_help_are_quoted() -> None:
    """A reader types what the help of an option has as an example."""
    found = helps()
    assert len(found) > 60, 'the commands are not found'
    assert [name for name in found if '*' in QUOTED_PATTERN.sub('', found[name])] == []


def test_the_guide_has_every_command_of_tenants() -> None:
    """At least its name on some page; those of administrators are on pages of theirs."""
    pages = (path.read_text(encoding='utf-8') for path in (ROOT / 'doc/source/user').glob('*.rst'))
    guide = ' '.join(' '.join(pages).split())
    names = {entry.name: entry.load() for entry in entry_points(group='openstack.market.v1')}
    wanted = {
        name.removeprefix('market_').replace('_', ' ')
        for name, command in names.items()
        if 'admin only' not in (command.__doc__ or '')
    }
    assert len(wanted) > 50
    assert sorted(name for name in wanted if not re.search(rf'(?<![\w-]){name}\b', guide)) == []


def test_nothing_is_installed_that_was_not_released() -> None:
    """The way is that from a checkout, as in README.rst."""
    found = {names(page): UNRELEASED.findall(page.read_text(encoding='utf-8')) for page in pages()}
    assert {name: commands for name, commands in found.items() if commands} == {}


@pytest.mark.parametrize(
    ('text', 'is_expanded'),
    [
        ('   $ openstack market notice set --events *', True),
        ('``openstack market notice set\n   --events job.* --mine``', True),
        ('    pip install .[api]', True),
        ('   $ openstack market notice set \\\n       --events lease.*', True),
        ("   $ openstack market notice set --events '*'", False),
        ("    /opt/bin/pip install -c constraints.txt '.[api]'", False),
        ('``lease.*`` is all of leases', False),
    ],
)
def test_what_a_shell_expands_is_found(text: str, is_expanded: bool) -> None:
    """The test above can fail, and by what."""
    assert bool(expanded(text)) is is_expanded


@pytest.mark.parametrize(
    ('text', 'is_unreleased'),
    [
        ('pip install python-openstackclient nova-market', True),
        ('bin/pip install "nova-market[api]"', True),
        ('pip install -c constraints.txt python-openstackclient .', False),
        ("/opt/nova-market/bin/pip install '.[api]' in a checkout of nova-market", False),
        ('pip install nova-market-plugin', False),
    ],
)
def test_what_was_not_released_is_found(text: str, is_unreleased: bool) -> None:
    """The test above can fail, and by what."""
    assert bool(UNRELEASED.search(text)) is is_unreleased
