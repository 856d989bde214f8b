# SPDX-License-Identifier: Apache-2.0
"""A local disk for guests that is scheduled by BFQ and slow enough to be the bottleneck: a directory.

A disk weight acts only where guests wait for the disk. Emulated guests, on the disk of a build machine, wait
for their CPU instead. So the directory lies on a filesystem on a loop device under BFQ, and the file below
the loop device is served by qemu-storage-daemon over FUSE, at a rate that all requests share:

    guest (O_DIRECT) -> ext4 -> loop device, BFQ -> FUSE -> qemu-storage-daemon, throttled -> file

The loop device charges what it does to the cgroup of the guest. Needs root, /dev/fuse and qemu-utils.

Units: bytes/s, MiB.
"""

import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from nova_market.errors import ExperimentFailed
from nova_market.testbed.host import run_checked

START_SECONDS = 20.0
STOP_SECONDS = 20.0
COMMAND_SECONDS = 60.0

SERVED = 'nova-market-served.img'
"""The file that qemu-storage-daemon serves; tools/test knows by it what a run that was killed has left."""


class SlowDisk:
    """`with SlowDisk(...) as disk:` makes it; files in disk.directory lie on it. Leaves nothing mounted."""

    def __init__(self, where: Path, size_mib: int, bytes_per_s: int) -> None:
        """where: a directory for its file, which is removed at the end.

        bytes_per_s: reads and writes together
        """
        self.directory = where.resolve() / 'mounted'
        self.device = ''
        self._where = where.resolve()
        self._size_mib = size_mib
        self._bytes_per_s = bytes_per_s
        self._stack = ExitStack()

    @property
    def scheduler(self) -> str:
        """The one in force: 'bfq', or another where the kernel has no BFQ."""
        return self._queue('scheduler').read_text().partition('[')[2].partition(']')[0]

    def schedule(self, name: str) -> None:
        """Have the kernel use another scheduler, such as mq-deadline."""
        self._queue('scheduler').write_text(name)

    def __enter__(self) -> Self:
        try:
            self._make()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _make(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        store, served = self._where / 'store.img', self._where / SERVED
        for path in (store, served):
            path.touch()
            self._stack.callback(path.unlink, missing_ok=True)
        # written full: a hole is read without asking the device below, and would be faster
        _run('dd', 'if=/dev/zero', f'of={store}', 'bs=1M', f'count={self._size_mib}')
        _run('mkfs.ext4', '-q', '-E', 'nodiscard', str(store))
        self._serve(store, served)
        self.device = _run('losetup', '--find', '--show', '--direct-io=on', str(served))
        with ExitStack() as unless_mounted:
            unless_mounted.callback(_run, 'losetup', '--detach', self.device)
            # without BFQ in the kernel, the service has to say that weights do not act
            if 'bfq' in self._queue('scheduler').read_text():
                self.schedule('bfq')
                # its favours for interactive tasks would outweigh weights
                self._queue('iosched/low_latency').write_text('0')
                # one request at a time: the loop device would take all that few readers have, in any order
                self._queue('iosched/strict_guarantees').write_text('1')
            _run('mount', '-o', 'noatime', self.device, str(self.directory))
            self._stack.callback(_run, 'umount', str(self.directory))
        # detached already, in fact as soon as it is unmounted

    def _serve(self, store: Path, served: Path) -> None:
        before = served.stat().st_dev
        with (self._where / 'daemon.log').open('ab') as log:
            daemon = subprocess.Popen(
                [
                    'qemu-storage-daemon',
                    *('--object', f'throttle-group,id=group,x-bps-total={self._bytes_per_s}'),
                    *('--blockdev', f'driver=file,node-name=file,filename={store},cache.direct=on'),
                    *('--blockdev', 'driver=throttle,node-name=slow,throttle-group=group,file=file'),
                    *('--export', f'type=fuse,id=export,node-name=slow,mountpoint={served},writable=on'),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )  # fmt: skip
        self._stack.callback(_end, daemon)
        deadline = time.monotonic() + START_SECONDS
        while served.stat().st_dev == before:
            if daemon.poll() is not None or time.monotonic() > deadline:
                said = (self._where / 'daemon.log').read_text(errors='replace').strip()
                raise ExperimentFailed(f'qemu-storage-daemon does not serve {served}: {said}')
            time.sleep(0.05)

    def _queue(self, name: str) -> Path:
        return Path('/sys/block') / Path(self.device).name / 'queue' / name


def _run(*command: str) -> str:
    return run_checked(command, COMMAND_SECONDS)


def _end(daemon: subprocess.Popen[bytes]) -> None:
    daemon.terminate()
    try:
        daemon.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()
