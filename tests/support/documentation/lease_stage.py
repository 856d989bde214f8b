# SPDX-License-Identifier: Apache-2.0
"""Where the sessions on leases run: the real API and its stores, the service of leases, a cloud in memory.

Steps: `after N hours`; `HOST is lost`.
"""

import re
from typing import Any

from tests.support.documentation.stages import START, Stage
from tests.support.job_bed import host
from tests.support.lease_bed import LeaseBed
from tests.support.lease_records import HOUR


def lease_bed(database: Any) -> LeaseBed:
    """Four hosts of 8 cores and 32 GiB; a core-hour costs a credit."""
    names = [f'rack1-{number}' for number in range(1, 5)]
    hosts = [host(name, cores=8.0, mib=32_768.0) for name in names]
    return LeaseBed(database, hosts=hosts, began=START)


class Leases(Stage):
    """Alice has 1000 credits; Bob has leased half of a host in the morning."""

    def prepare(self) -> None:
        self.must('root', 'account', 'grant', 'astronomy', '1000')
        self.must('root', 'account', 'grant', 'biology', '1000')
        self.bed.run()
        words = ('--cores', '4', '--memory', '16384', '--for', '4h', '--host', 'rack1-2')
        self.must('bob', 'lease', 'create', *words, '--start', '2026-11-23T08:00:00Z')

    def step(self, text: str) -> None:
        if found := re.fullmatch(r'after (\d+) hours', text):
            self.bed.run(int(found[1]) * HOUR, HOUR / 4)
        elif found := re.fullmatch(r'(\S+) is lost', text):
            self.bed.change_host(found[1], answering=False)
            self.bed.run(120)
        else:
            super().step(text)

    def command(self, words: list[str]) -> tuple[int, str]:
        self.bed.run()
        return super().command(words)


STAGES: dict[str, type[Stage]] = {'leases': Leases}
BEDS = {'leases': lease_bed}
