# SPDX-License-Identifier: Apache-2.0
"""What every ports.ProviderTraits does; run on the one in memory and on the real Placement."""


def keep(traits, first, second):
    """first, second: two hosts that have a provider, and no mark."""
    assert traits.marked() == frozenset()
    traits.announce()
    traits.announce()
    assert traits.marked() == frozenset()
    traits.unmark(first)
    traits.mark(first)
    traits.mark(first)
    assert traits.marked() == {first}
    traits.mark(second)
    traits.mark('no such host')
    assert traits.marked() == {first, second}
    traits.announce()
    assert traits.marked() == {first, second}
    traits.unmark(first)
    traits.unmark(first)
    traits.unmark('no such host')
    assert traits.marked() == {second}
    traits.unmark(second)
    assert traits.marked() == frozenset()
