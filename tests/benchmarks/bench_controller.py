# SPDX-License-Identifier: Apache-2.0
"""A pass of the controller: seconds by number of applications, at a decision and between two."""

import time
from pathlib import Path

import pytest

from nova_market.db import schema
from nova_market.db.database import Database
from tests.support.app_bed import Bed, host, template

pytestmark = pytest.mark.benchmark

SIZES = (50, 200, 800)


def seconds(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@pytest.mark.parametrize('count', SIZES)
def test_a_pass(count, tmp_path: Path):
    """A decision on all, with every bid changed; and a look at all servers with nothing to do."""
    database = Database({'connection': f'sqlite:///{tmp_path}/market.sqlite'})
    schema.sync(database)
    bed = Bed(
        database, hosts=[host(f'h{n}', cores=64.0, mib=65536.0) for n in range(count // 50 + 1)]
    )
    for n in range(count):
        bed.add(f'app-{n:04d}', template(), project=f'p{n % 20}', balance=10)
    bed.run(2)
    for n in range(count):
        bed.report(f'app-{n:04d}', metric=1.5)
    bed.market.engine.tick()
    decision = seconds(bed.controller.turn)
    look = seconds(bed.controller.turn)
    assert all(bed.app(f'app-{n:04d}').period == bed.seen[-1].period for n in range(0, count, 50))
    print(
        f'\n{count} applications: a decision {decision:.2f} s ({1000 * decision / count:.1f} ms each), '
        f'a look {look:.2f} s ({1000 * look / count:.2f} ms each)'
    )
    database.close()
