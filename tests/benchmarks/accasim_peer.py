# SPDX-License-Identifier: Apache-2.0
"""Runs AccaSim on a log, for comparison: `python accasim_peer.py LOG PROCESSORS DISCIPLINE STARTS DIR`.

Needs an interpreter with accasim 1.1 (PyPI), not ours: nothing of nova_market is imported. Writes a line
`number start` for each job to STARTS, and prints CPU and wall seconds of the simulation as JSON.

fcfs  its FirstInFirstOut
ebf   its EASYBackfilling as it is delivered: it discards its own reservation (`reserved_nodes=[]`), so
      anybody who fits passes the first in the queue; a schedule of its own
easy  EASY as a dispatcher written against its interface: one reservation, counted anew at each event
"""

import collections
import collections.abc
import json
import sys
import time
from pathlib import Path

# accasim 1.1 was written for Python 3.9 and before
collections.Mapping = collections.abc.Mapping

from accasim.base.allocator_class import FirstFit  # noqa: E402
from accasim.base.event_class import EventManager  # noqa: E402
from accasim.base.scheduler_class import (  # noqa: E402
    EASYBackfilling,
    FirstInFirstOut,
    SchedulerBase,
)
from accasim.base.simulator_class import Simulator  # noqa: E402

NODE = 'node_1'


class Easy(SchedulerBase):
    """EASY backfilling on one node."""

    name = 'EASY'

    def __init__(self):
        super().__init__(0, allocator=None)

    def get_id(self):
        return self.name

    def scheduling_method(self, cur_time, jobs, es_dict):
        (node, resources), *_ = [*self.resource_manager.current_availability.items(), (NODE, {})]
        free = resources.get('core', 0)
        running = [
            (es_dict[i].start_time + es_dict[i].expected_duration, es_dict[i].requested_nodes)
            for i in self.resource_manager.current_allocations
        ]
        plan, first = [], None
        for position, job in enumerate(jobs):
            if job.requested_nodes > free:
                first = position
                break
            free -= job.requested_nodes
            running.append((cur_time + job.expected_duration, job.requested_nodes))
            plan.append((cur_time, job.id, [node] * job.requested_nodes))
        if first is not None:
            plan += self._backfill(cur_time, jobs[first:], free, running, node)
        return plan, []

    def _backfill(self, cur_time, jobs, free, running, node):
        needed, shadow, available = jobs[0].requested_nodes, cur_time, free
        for end, width in sorted(running):
            if available >= needed and end > shadow:
                break
            available += width
            shadow = end
        extra = available - needed
        plan = [(None, jobs[0].id, [])]
        for job in jobs[1:]:
            width, late = job.requested_nodes, cur_time + job.expected_duration > shadow
            if width > free or (late and width > extra):
                plan.append((None, job.id, []))
                continue
            extra -= width if late else 0
            free -= width
            plan.append((cur_time, job.id, [node] * width))
        return plan


DISCIPLINES = {
    'fcfs': lambda: FirstInFirstOut(FirstFit()),
    'ebf': lambda: EASYBackfilling(FirstFit()),
    'easy': Easy,
}


def main(log, processors, discipline, starts, directory):
    config = Path(directory) / 'system.json'
    config.write_text(
        json.dumps(
            {
                'groups': {'all': {'core': int(processors)}},
                'resources': {'all': 1},
                'equivalence': {'processor': {'core': 1}},
                'start_time': 0,
            }
        )
    )
    found = {}
    finish = EventManager.finish_event

    def noting(self, event):
        found[event.id] = event.start_time
        finish(self, event)

    EventManager.finish_event = noting
    wall, cpu = time.perf_counter(), time.process_time()
    Simulator(
        str(log),
        str(config),
        DISCIPLINES[discipline](),
        scheduling_output=False,
        statistics_output=False,
        show_statistics=False,
        RESULTS_FOLDER_PATH=str(directory),
        LOG_LEVEL='ERROR',
    ).start_simulation()
    spent = {'wall': time.perf_counter() - wall, 'cpu': time.process_time() - cpu}
    lines = [f'{number} {start}\n' for number, start in found.items()]
    Path(starts).write_text(''.join(lines))
    print(json.dumps(spent))


if __name__ == '__main__':
    main(*sys.argv[1:])
