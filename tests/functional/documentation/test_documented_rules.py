# SPDX-License-Identifier: Apache-2.0
"""Numbers that more than one page states are those of the code."""

import re

import pytest

from nova_market.conf import api as api_options
from nova_market.core.exchange import peer_budget as budget
from nova_market.core.exchange.report_bounds import LARGEST
from nova_market.core.usage.waiting import MOST_MINUTES, SPARE
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


MIB = 2**20
DEFAULTS = {one.name: one.default for one in api_options.OPTIONS}
A_SECOND = f'{budget.BYTES_A_SECOND / MIB:g} MiB a second'
WAITS = (
    f'{MOST_MINUTES} minutes, one report for each, with the servers that the market knows on it and '
    f'{SPARE} more'
)
BOUNDS = (
    ('specs/fairness.rst', f'{budget.BYTES / MIB:g} MiB at once, {A_SECOND}'),
    ('specs/fairness.rst', f'counts as {budget.FRAME // 1024} KiB more'),
    ('specs/fairness.rst', f'of connections ({budget.CONNECTIONS})'),
    ('specs/fairness.rst', f'no more than {LARGEST:g} times what the next largest host has'),
    ('specs/fairness.rst', WAITS),
    ('specs/usage.rst', WAITS),
    ('admin/trust.rst', f'{budget.BYTES / MIB:g} MiB at once and {A_SECOND}'),
    ('admin/trust.rst', f'make {budget.CONNECTIONS} connections'),
    ('admin/exchange-keys.rst', f'more than {budget.BYTES / MIB:g} MiB at once'),
    ('admin/exchange-keys.rst', f'made more than {budget.CONNECTIONS} connections'),
    (
        'api/index.rst',
        f'({DEFAULTS["request_rate"]:g} and {DEFAULTS["request_burst"]:,.0f} by default',
    ),
)
"""What others may do at most, in the words of a page."""


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


@pytest.mark.parametrize(('page', 'words'), BOUNDS)
def test_a_page_states_the_bounds_of_the_code(page, words):
    """What one host, one tenant may do at most: an operator relies on it."""
    text = ' '.join((ROOT / 'doc/source' / page).read_text(encoding='utf-8').split())
    assert words in text
