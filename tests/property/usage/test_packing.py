# SPDX-License-Identifier: Apache-2.0
"""U1: what is packed comes back; sums to the last unit, minutes as they are kept."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.usage.packing import COARSE, kept, pack, unpack
from nova_market.core.usage.use import AMOUNTS, LONGEST

amounts = st.lists(
    st.lists(st.integers(0, LONGEST), min_size=len(AMOUNTS), max_size=len(AMOUNTS)), max_size=6
).map(lambda rows: np.array(rows, dtype=np.int64).reshape(-1, len(AMOUNTS)))
numbers = st.sets(st.integers(0, 2**20), min_size=6, max_size=6).map(
    lambda found: np.array(sorted(found), dtype=np.int64)
)
minutes = st.lists(st.tuples(*[st.integers(0, 2**22)] * len(AMOUNTS)), min_size=1, max_size=6).map(
    lambda rows: np.array(rows, dtype=np.int64)
)


@given(numbers, amounts)
def test_sums_are_exact(found, rows):
    ids, back = unpack(pack(found[: len(rows)], rows, exact=True))
    assert ids.tolist() == found[: len(rows)].tolist()
    assert back.tolist() == rows.tolist()


@given(numbers, amounts | minutes)
def test_minutes_come_back_as_they_are_kept(found, rows):
    ids, back = unpack(pack(found[: len(rows)], rows, exact=False))
    assert ids.tolist() == found[: len(rows)].tolist()
    assert back.tolist() == kept(rows).tolist()


@given(amounts | minutes)
def test_what_is_kept_is_close_and_stays(rows):
    """To half a step of the coarsest amounts, and small ones exactly; what was kept is kept again."""
    found = kept(rows)
    assert (np.abs(found - rows) <= rows / 2 ** (COARSE + 1)).all()
    assert (found[rows < 2 ** (COARSE + 1)] == rows[rows < 2 ** (COARSE + 1)]).all()
    assert (kept(found) == found).all()
    order = np.argsort(rows[:, 1], kind='stable')
    assert (np.diff(found[order, 1]) >= 0).all()
