# SPDX-License-Identifier: Apache-2.0
"""A calendar of whole seconds that is looked at second by second, to test the real one against.

A booking is (host, start, end, amounts); an end of None never comes. All bookings and windows are within
0 to LAST; behind it everything stays as it is in the second LAST.
"""

from collections.abc import Sequence

LAST = 24

Booking = tuple[int, int, int | None, tuple[float, ...]]


class BruteCalendar:
    """capacity, largest: [host][axis]; since: [host], 0 = always."""

    def __init__(
        self,
        capacity: Sequence[Sequence[float]],
        largest: Sequence[Sequence[float]],
        since: Sequence[int],
        bookings: Sequence[Booking],
    ) -> None:
        self.capacity, self.largest, self.since = capacity, largest, since
        self.bookings = bookings
        self.hosts = range(len(capacity))

    def free_at(self, host: int, second: int) -> list[float]:
        powered = second >= self.since[host]
        free = [amount if powered else 0.0 for amount in self.capacity[host]]
        for where, start, end, amounts in self.bookings:
            if where == host and start <= second and (end is None or second < end):
                free = [left - amount for left, amount in zip(free, amounts, strict=True)]
        return free

    def least_free(self, host: int, start: int, end: int) -> list[float]:
        seconds = [self.free_at(host, second) for second in range(start, end)]
        return [min(column) for column in zip(*seconds, strict=True)]

    def fits(
        self, host: int, amounts: Sequence[float], start: int, duration: int | None, servers: int
    ) -> bool:
        if any(most < a for most, a in zip(self.largest[host], amounts, strict=True) if a):
            return False
        end = LAST + 1 if duration is None else start + duration
        least = self.least_free(host, start, max(end, start + 1))
        return all(free >= servers * a for free, a in zip(least, amounts, strict=True) if a)

    def starts(
        self,
        host: int,
        amounts: Sequence[float],
        duration: int | None,
        window: tuple[int, int | None],
        servers: int = 1,
    ) -> list[int]:
        """All whole seconds up to LAST at which so many servers can start there."""
        earliest, finish = window
        return [
            second
            for second in range(earliest, LAST + 1)
            if (finish is None or (duration is not None and second + duration <= finish))
            and self.fits(host, amounts, second, duration, servers)
        ]

    def gang(
        self,
        amounts: Sequence[float],
        duration: int | None,
        window: tuple[int, int | None],
        servers: int,
        most_per_host: int | None,
    ) -> tuple[int, list[int]] | None:
        """The earliest second at which all start together, and the host of each."""
        most = servers if most_per_host is None else min(most_per_host, servers)
        for second in range(window[0], LAST + 1):
            hosts: list[int] = []
            for host in self.hosts:
                some = [
                    n
                    for n in range(1, most + 1)
                    if second in self.starts(host, amounts, duration, window, n)
                ]
                hosts += [host] * max(some, default=0)
            if len(hosts) >= servers:
                return second, hosts[:servers]
        return None
