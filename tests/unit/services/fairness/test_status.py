# SPDX-License-Identifier: Apache-2.0
"""`nova-fairness status` fits a screen of 120 columns, whatever names and figures it shows."""

import uuid

import pytest

from nova_market.services.fairness.status import WIDTH, render
from tests.support.status_builders import OWNER, WHY, document, guest


@pytest.mark.parametrize('market', [False, True])
@pytest.mark.parametrize(
    'name', ['instance-00000001', str(uuid.UUID(int=2**127)), 'tenant-7.' + 'database-' * 20]
)
def test_no_line_is_longer_than_the_screen(name, market):
    """A long name of a domain is cut; controls and reason go on in the next line, with nothing left out."""
    found = document(guest(name), guest('b'), market=market, host='h' * 253)
    lines = render(found, 700.0, alive=True).splitlines()
    assert max(len(line) for line in lines) <= WIDTH == 120
    text = ' '.join(' '.join(lines).split())
    assert text.count(WHY) == 2
    assert (
        text.count('memory 4194304M/?, disk: no device of the guest is under BFQ or io.cost') == 2
    )
    assert name[:20] in text


def test_names_that_fit_are_whole():
    """A UUID, as instance_name_template = %(uuid)s makes it, is one of them."""
    name = str(uuid.UUID(int=2**127))
    figures = {'cpu': 16.0, 'memory': 64.0 * 1024**3}
    small = guest(name) | {
        'load': figures,
        'endowment': figures,
        'heaviness': 1.0,
        'owner_heaviness': 1.0,
    }
    assert f'\n{name}  {OWNER[:12]}  ' in render(document(small), 101.0, alive=True)


def test_a_guest_is_its_figures_and_below_them_controls_and_reason():
    shown = render(document(guest('a', 'a reason', {}), market=False), 101.0, alive=True)
    head, below, figures, reason = shown.split('\n\n')[1].splitlines()
    assert head.split() == [
        'GUEST', 'OWNER', 'CPU', 'USED/DUE', 'MEM', 'USED/DUE', 'HEAVINESS', 'OF', 'OWNER',
    ]  # fmt: skip
    assert figures.index('128.25/128.25') == head.index('CPU')
    assert below == '    CONTROL ASKED/SET | WHY'
    assert reason == '    - | a reason'
