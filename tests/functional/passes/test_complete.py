# SPDX-License-Identifier: Apache-2.0
"""Nothing that is added later is left out of what is tried with bad rows."""

import importlib
import inspect
import pkgutil

import nova_market.services
from nova_market.db.ledger_tables import Base
from nova_market.services.leader_loop import LeaderLoop
from tests.functional.passes.cases import CASES, OTHER_PASSES, OTHER_TABLES, PASSES
from tests.functional.passes.reads import READS
from tests.functional.passes.world import World


def passes():
    """Classes of services with a pass, which are those with `tick` or `turn`."""
    for found in pkgutil.walk_packages(nova_market.services.__path__, 'nova_market.services.'):
        module = importlib.import_module(found.name)
        for one in vars(module).values():
            if not inspect.isclass(one) or one.__module__ != module.__name__:
                continue
            protocol = getattr(one, '_is_protocol', False)
            if not protocol and not inspect.isabstract(one) and _has_pass(one):
                yield one


def _has_pass(one):
    named = any(inspect.isfunction(vars(one).get(name)) for name in ('tick', 'turn'))
    return named or issubclass(one, LeaderLoop)


def test_each_table_has_a_bad_row():
    """Or a reason why it needs none."""
    tried = {one.table for _, one in CASES} | {one.table for _, one in READS}
    tables = set(Base.metadata.tables)
    assert tried | OTHER_TABLES.keys() == tables
    assert not tried & OTHER_TABLES.keys()


def test_each_pass_has_bad_rows():
    tried = {world for world, _ in CASES}
    assert {*passes()} == PASSES.keys() | OTHER_PASSES.keys()
    assert {world for worlds in PASSES.values() for world in worlds} == tried
    assert tried == set(World.__subclasses__())
