# SPDX-License-Identifier: Apache-2.0
"""By which names queues are found, and what a submitter reads who has given another project's (J9)."""

from dataclasses import replace

import pytest

from nova_market.core.job.queue_access import (
    Submitter,
    invitations,
    key_of,
    may_submit,
    no_queue,
)
from tests.support.job_records import id_of, queue

ANN = Submitter(user_id='ann', project_id='blue', roles=('member',))


def test_a_name_alone_is_one_of_the_own_project():
    assert key_of('night', 'blue') == 'blue:night' == queue('night', 'blue').key
    assert key_of(id_of('night'), 'blue') == id_of('night')


@pytest.mark.parametrize(
    ('more', 'takes'),
    [
        ({}, False),
        ({'projects': ('green',)}, False),
        ({'projects': ('green', 'blue')}, True),
        ({'projects': ('blue',), 'roles': ('renderer',)}, False),
        ({'projects': ('blue',), 'roles': ('renderer', 'member')}, True),
        ({'project_id': 'blue'}, True),
        ({'project_id': 'blue', 'roles': ('renderer',)}, False),
    ],
)
def test_who_may_submit(more, takes):
    assert may_submit(replace(queue(), **more), ANN) is takes


def test_an_invitation_is_shown_and_never_followed():
    """Who makes a queue of this name and invites a project gets none of its jobs by that."""
    theirs = replace(queue(), projects=('blue',))
    there = [theirs, queue('other'), queue('own', 'blue')]
    assert invitations(there, ANN) == [theirs.id]
    assert f'give its id, {theirs.id}, or see' in no_queue('night', [theirs.id])
    assert no_queue('day').startswith("there is no queue 'day' that takes jobs of yours")
