# SPDX-License-Identifier: Apache-2.0
"""By how much one host of N that lies moves the part of the cloud that an owner has (rule H29).

On a fluid model, so that it costs no guests: as N-ths of the cloud's CPU, of the owner that is moved most.
"""

from dataclasses import replace

import pytest

from tests.support.exchange.liar import (
    METRICS,
    SETTINGS,
    TRUTH,
    Broadcast,
    Layout,
    Lie,
    difference,
    extremes,
    moved,
    shares,
)

pytestmark = pytest.mark.benchmark

MOST = 2.0
"""Times 1 / N."""

LAYOUTS = (
    Layout(hosts=4, owners=4),
    Layout(hosts=10, owners=3),
    Layout(hosts=10, owners=20, guests=3),
    Layout(hosts=20, owners=10, guests=4),
)
OWNERS = 3
READERS = ('h1', 'h2', 'h3')


@pytest.mark.parametrize('metric', METRICS, ids=lambda one: type(one).__name__)
def test_lies_of_one_host(metric):
    worst = {}
    for layout in LAYOUTS:
        layout = replace(layout, settings=replace(SETTINGS, metric=metric))
        for name, lie in extremes(layout).items():
            found = layout.hosts * moved(layout, lie)
            worst[name] = max(worst.get(name, (0.0, 0, 0)), (found, layout.hosts, layout.owners))
    print(f'\n{type(metric).__name__}: N-ths by which an owner is moved')
    for name, (found, hosts, owners) in sorted(worst.items(), key=lambda item: -item[1][0]):
        print(f'{name:25} {found:.2f}  with {hosts} hosts, {owners} owners')
        assert found <= MOST, name


@pytest.mark.parametrize('name', ['quotas', 'a thousand owners'])
def test_lies_where_owners_weigh_by_their_quotas(name):
    """A thousand owners in place of three would make all quotas mean little, on however many hosts."""
    layout = Layout(hosts=40, owners=OWNERS, settings=replace(SETTINGS, entitlement='quota'))
    quotas = {f'o{number}': (4 + 4 * number, 8192) for number in range(OWNERS)}
    lie = Lie(quotas=tuple((owner, (1, 1)) for owner in quotas))
    lie = lie if name == 'quotas' else extremes(layout)[name]
    true, lied = (shares(layout, one, Broadcast(layout), quotas, READERS) for one in (TRUTH, lie))
    found = layout.hosts * difference(true, lied)
    print(f'\n{name}: {found:.2f} N-ths')
    assert found <= MOST
