# SPDX-License-Identifier: Apache-2.0
"""Where the cases of a sweep run: here, in processes of this machine, or on a Dask or Ray cluster.

Beyond the papers. All of them give results in the order of the work, with only so much work handed out at
a time that results do not pile up. A cluster's workers need nova-market installed, in the same version.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, Protocol, TypeVar

from nova_market.errors import ConfigurationError

Work = TypeVar('Work')
Result = TypeVar('Result')

AHEAD = 4
"""Pieces of work per worker that are handed out before the oldest result is there."""


class Pool(Protocol):
    """map: as the builtin; closed by leaving the context."""

    def map(self, function: Callable[[Work], Result], work: Iterable[Work]) -> Iterator[Result]: ...


class Here:
    """One after the other, in this process."""

    def map(self, function: Callable[[Work], Result], work: Iterable[Work]) -> Iterator[Result]:
        return map(function, work)


class Processes:
    """So many processes of this machine."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def map(self, function: Callable[[Work], Result], work: Iterable[Work]) -> Iterator[Result]:
        # not forked: libraries that have threads do not survive that
        with ProcessPoolExecutor(self._jobs, get_context('spawn')) as pool:
            yield from _in_order(
                lambda one: pool.submit(function, one), lambda f: f.result(), work, self._jobs
            )


class DaskCluster:
    """The workers of a Dask scheduler."""

    def __init__(self, address: str) -> None:
        """:raises ConfigurationError: distributed is not installed, or no scheduler answers."""
        try:
            import distributed
        except ImportError as error:
            raise ConfigurationError(f'a Dask cluster needs "distributed": {error}') from error
        connect: Any = distributed.Client
        try:
            self._client = connect(f'tcp://{address}', timeout='10s', set_as_default=False)
        except (OSError, TimeoutError) as error:
            raise ConfigurationError(f'no Dask scheduler at {address}: {error}') from error

    def map(self, function: Callable[[Work], Result], work: Iterable[Work]) -> Iterator[Result]:
        workers = max(len(self._client.scheduler_info(n_workers=-1)['workers']), 1)
        with self._client as client:
            # pure: a case runs once for each time it is asked for
            yield from _in_order(
                lambda one: client.submit(function, one, pure=False),
                lambda future: future.result(),
                work,
                workers,
            )


class RayCluster:
    """The workers of a Ray cluster."""

    def __init__(self, address: str) -> None:
        """:raises ConfigurationError: ray is not installed, or no scheduler answers."""
        try:
            import ray
        except ImportError as error:
            raise ConfigurationError(f'a Ray cluster needs "ray": {error}') from error
        self._ray: Any = ray
        try:
            self._ray.init(address=f'ray://{address}')
        except (ConnectionError, RuntimeError) as error:
            raise ConfigurationError(f'no Ray cluster at {address}: {error}') from error

    def map(self, function: Callable[[Work], Result], work: Iterable[Work]) -> Iterator[Result]:
        remote = self._ray.remote(function)
        workers = max(int(self._ray.cluster_resources().get('CPU', 1)), 1)
        try:
            yield from _in_order(remote.remote, self._ray.get, work, workers)
        finally:
            self._ray.shutdown()


def pool_for(jobs: int, cluster: str = '') -> Pool:
    """cluster: dask://host:port or ray://host:port; '' is this machine.

    :raises ConfigurationError: names what is wrong with it.
    """
    if cluster:
        kind, separator, address = cluster.partition('://')
        if kind not in ('dask', 'ray') or not separator or ':' not in address:
            raise ConfigurationError(
                f'cluster {cluster!r:.100}: give dask://host:port or ray://host:port'
            )
        return DaskCluster(address) if kind == 'dask' else RayCluster(address)
    if jobs < 1:
        raise ConfigurationError(f'{jobs} jobs: give 1 or more')
    return Here() if jobs == 1 else Processes(jobs)


def _in_order(
    submit: Callable[[Work], Any],
    result: Callable[[Any], Result],
    work: Iterable[Work],
    workers: int,
) -> Iterator[Result]:
    waiting: deque[Any] = deque()
    for one in work:
        waiting.append(submit(one))
        if len(waiting) >= AHEAD * workers:
            yield result(waiting.popleft())
    while waiting:
        yield result(waiting.popleft())
