# SPDX-License-Identifier: Apache-2.0
"""One bad row costs that row, in each pass of each service (doc/source/specs/passes.rst).

A row of each table that a pass reads is poisoned, past all checks. Others are handled as if it was not there;
it is set aside with its reason, for its owner and for the operator, and logged once; mended, it goes on.
"""

import logging
from contextlib import closing
from dataclasses import replace

import pytest

from tests.functional.passes.cases import CASES
from tests.functional.passes.notice_world import NoticeWorld
from tests.support.poison import poison, set_aside

pytestmark = [pytest.mark.functional, pytest.mark.usefixtures('defects')]


def lines_of(caplog, kind):
    """What the log has of rows of a kind that were set aside."""
    found = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
    return [one for one in found if one.startswith(f'{kind} ') and 'is set aside' in one]


def marks_of(world):
    """Servers of mail are processes."""
    return [pytest.mark.clock] if world is NoticeWorld else []


@pytest.mark.parametrize(
    ('world', 'bad'),
    [
        pytest.param(world, bad, id=f'{world.service}-{bad}', marks=marks_of(world))
        for world, bad in CASES
    ],
)
def test_one_bad_row_costs_that_row(world, bad, database, caplog):
    """Whatever stands in it."""
    with closing(world(database)) as made:
        try_with(made, bad, database, caplog)


def try_with(made, bad, database, caplog):
    row = made.prepare(bad)
    before = poison(database, bad, row.where, **row.given)
    made.go()
    early = set_aside(database, made.service)
    made.go_far()
    made.check_others(bad)
    lines = lines_of(caplog, bad.kind)
    assert lines and len(lines) == len(set(lines)), 'each stage of a row is logged once'
    if not bad.heals:
        aside = early if bad.once else set_aside(database, made.service)
        mine = [one for one in aside if (one.kind, one.id) == (bad.kind, row.id)]
        assert mine and all(one.stage.startswith(bad.stage) for one in mine), aside
        assert all(one.project_id == row.project and one.reason for one in mine), mine
    if not bad.heals:
        poison(database, replace(bad, value=before), row.where, **row.given)
        made.go_far()
    assert bad.once or set_aside(database, made.service) == []
    made.check_bad(bad)
