# SPDX-License-Identifier: Apache-2.0
"""Every command that a newcomer's pages name can be typed as it is printed, from the root of a checkout."""

import re
from collections.abc import Iterator

import pytest

from tests.support.documentation.described import OTHERS, problem
from tests.support.documentation.sessions import ROOT

pytestmark = [pytest.mark.functional, pytest.mark.clock]

PAGES = (
    'README.rst',
    'CONTRIBUTING.rst',
    'doc/source/install/index.rst',
    'doc/source/admin/path.rst',
    'doc/source/admin/market.rst',
    'doc/source/contributor/extending.rst',
)
PROGRAM = re.compile(
    rf'(?:\S*/)?(?:openstack|nova-[a-z-]+|tox|{"|".join(sorted(OTHERS))})(?=\s|$)'
    r'|(?:\./)?tools/\w+(?=\s|$)'
)
NO_PROGRAMS = frozenset(
    {
        'nova-compute',
        'nova-scheduler',
        'nova-market',
        'openstack market',
        '/tmp/nova-market-experiment',
        '/var/cache/nova-market',
    }
)
"""Names of other things, which pages have beside those of programs."""
BLOCK = re.compile(r'^( *)(?!\.\. ).*::\n\n((?:\1 +\S.*\n|\n)+)', re.MULTILINE)


def printed(page: str) -> Iterator[str]:
    """The lines of literal blocks, as they are; what stands within a line, between double backquotes."""
    text = (ROOT / page).read_text(encoding='utf-8')
    for block in BLOCK.finditer(text):
        for line in block[2].splitlines():
            yield line.split(' #')[0].strip()
    yield from (' '.join(literal.split()) for literal in re.findall(r'``([^`]+)``', text))


def commands(page: str) -> list[str]:
    found = [part for text in printed(page) for part in text.split(' && ')]
    typed = (re.sub(r'^[A-Z_]+=\S+ ', '', text) for text in found)
    return sorted({text for text in typed if PROGRAM.match(text)} - NO_PROGRAMS)


@pytest.mark.parametrize('page', PAGES)
def test_commands_can_be_typed(page: str) -> None:
    """They exist with their options. One that a line only names may lack arguments that it needs."""
    typed = commands(page)
    assert typed, 'no command found: the pattern is broken'
    found = {text: problem(text.split()) for text in typed}
    assert {
        text: why
        for text, why in found.items()
        if why and not re.search(r'arguments .*required$|arguments are required:', why)
    } == {}


@pytest.mark.parametrize(
    'text',
    [
        'nova-market-manage db upgrade',
        'nova-fairness stats',
        'nova-market-manage db purge --mail-type',
        'openstack market bids set',
        './tools/test --slow',
        'tox -e everything',
        'pip install -c constraint.txt .',
        'make install',
    ],
)
def test_a_command_that_does_not_exist_is_found(text: str) -> None:
    """The test above can fail, and by what."""
    assert problem(text.split())
