# SPDX-License-Identifier: Apache-2.0
"""Numbers that more than one page states are those of the code."""

import re

import pytest

from tests.support.documentation.sessions import ROOT
from tests.support.documentation.stages import START, market_bed
from tests.support.market_bed import PERIOD

pytestmark = pytest.mark.functional

WORDS = {'one': 1, 'two': 2, 'three': 3, 'four': 4}
PAGES = (
    'specs/market.rst',
    'admin/market-engine.rst',
    'admin/enforcement.rst',
    'admin/path.rst',
)


@pytest.fixture(name='server')
def no_server():
    """Only SQLite here."""


@pytest.mark.parametrize('page', PAGES)
def test_a_page_states_how_long_an_allocation_is_valid(database, page):
    """Rule F3: until so many periods after the end of its own."""
    bed = market_bed(database)
    bed.engine.tick()
    own_end = START + PERIOD
    text = ' '.join((ROOT / 'doc/source' / page).read_text(encoding='utf-8').split())
    stated = re.findall(r'(\w+) periods after the end of', text)
    assert stated, 'the page states it in these words'
    assert {WORDS[word] for word in stated} == {(bed.enforcement.expires - own_end) / PERIOD}
