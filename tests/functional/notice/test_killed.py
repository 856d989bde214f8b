# SPDX-License-Identifier: Apache-2.0
"""N3: a service of notices is killed at random moments: nothing is lost, at most something is repeated."""

import json
from collections import defaultdict
from random import Random

import pytest

from tests.functional.market.test_killed import Killed, Life, Mortal
from tests.support.notice_builders import notice

pytestmark = [pytest.mark.functional, pytest.mark.clock]

LONGEST = 30
"""Calls, before and behind each, that a service makes until it is killed."""


def events(body):
    return [one['id'] for one in json.loads(body)['events']]


@pytest.mark.parametrize('seed', range(3))
def test_killed_at_random_moments(bed, seed):
    """The servers too: each event arrives, in one message, which has one id however often it comes."""
    random, deaths, made = Random(seed), 0, 0
    bed.ask(webhook=True, at_most=10)

    def born():
        life = Life(random.randint(1, LONGEST))
        return bed.another(around=lambda one: Mortal(one, life))

    service = born()
    for number in range(110):
        if number < 40:
            some = random.randint(0, 2)
            bed.happens(*(notice(f'k{made + n}') for n in range(some)))
            made += some
        if number in (15, 35):
            bed.hook.stop(), bed.mail.stop()
        if number in (22, 45):
            bed.hook.start(), bed.mail.start()
        try:
            service.turn()
        except Killed:
            deaths += 1
            service = born()
        bed.clock.advance(120.0)
    assert deaths >= 10
    wanted = [f'k{number}' for number in range(made)]
    by_message = defaultdict(set)
    for headers, body in bed.hook.requests:
        by_message[headers['webhook-id']].add(body)
    assert all(len(bodies) == 1 for bodies in by_message.values())
    arrived = [key for (body,) in by_message.values() for key in events(body)]
    assert arrived == wanted
    mails = {mail['message-id'] for mail in bed.mail.mails}
    texts = {mail['message-id']: mail.get_payload() for mail in bed.mail.mails}
    assert (
        len(mails) <= len(bed.mail.mails) and sum(t.count('event:') for t in texts.values()) == made
    )
    assert (
        bed.counts() == {'waiting': 0, 'sent': 2 * made, 'given_up': 0}
        or bed.counts()['waiting'] == 0
    )


def test_two_that_lead_at_the_same_moment_send_once(bed):
    """Both have read what waits before one of them sends."""
    bed.ask()
    bed.happens(*(notice(f'k{n}') for n in range(3)))
    other = bed.another()

    class Late:
        def __getattr__(self, name):
            return getattr(bed.outbox, name)

        def claim(self, *arguments):
            other.turn()
            return bed.outbox.claim(*arguments)

    slow = bed.another(around=lambda one: Late() if one is bed.outbox else one)
    slow.turn()
    assert len(bed.mail.mails) == 3 and bed.counts()['sent'] == 3
