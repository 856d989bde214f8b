# SPDX-License-Identifier: Apache-2.0
"""Runs the real nova-fairness beside an experiment, one process per host, ended by its pid."""

import configparser
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nova_market.errors import ExperimentFailed

START_TIMEOUT = 90.0
STOP_TIMEOUT = 40.0

Options = Mapping[str, Mapping[str, object]]


class ServiceProcess:
    """nova-fairness with its own configuration and state below `directory`."""

    def __init__(self, directory: Path, options: Options, within: int | None = None) -> None:
        """options: group -> option -> value; state_path is set here.

        within: a process whose network namespace the service joins.
        """
        self.directory = directory
        self.state = directory / 'state'
        self.log = directory / 'nova-fairness.log'
        self.config = directory / 'nova_market.conf'
        self._options = options
        self._within = within
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        if self._process is None:
            raise ExperimentFailed('nova-fairness was not started')
        return self._process.pid

    def start(self) -> None:
        """Launch it and wait for its first round.

        :raises ExperimentFailed: it ended or did not run a round in time; quotes its log.
        """
        process = self.launch()
        deadline = time.monotonic() + START_TIMEOUT
        while not self._status_file.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise ExperimentFailed(f'nova-fairness did not start: {self._last_words()}')
            time.sleep(0.1)

    def configure(self) -> None:
        """Write its configuration."""
        self.directory.mkdir(parents=True, exist_ok=True)
        parser = configparser.ConfigParser(interpolation=None)
        parser.read_dict(
            {
                group: {k: str(v) for k, v in values.items()}
                for group, values in self._options.items()
            }
        )
        if not parser.has_section('fairness'):
            parser.add_section('fairness')
        parser.set('fairness', 'state_path', str(self.state))
        descriptor = os.open(self.config, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, 'w', encoding='utf-8') as stream:
            parser.write(stream)

    def launch(self) -> subprocess.Popen[bytes]:
        """Start it, and wait for nothing."""
        self.configure()
        self._status_file.unlink(missing_ok=True)
        with self.log.open('ab') as log:
            enter = ['nsenter', '-t', str(self._within), '-n', '--'] if self._within else []
            command = [sys.executable, '-m', 'nova_market.cmd.fairness']
            self._process = subprocess.Popen(
                [*enter, *command, '--config-file', str(self.config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | {'PYTHONWARNINGS': 'ignore'},
                start_new_session=True,
            )
        return self._process

    def status(self) -> dict[str, Any]:
        return dict(json.loads(self._status_file.read_text(encoding='utf-8')))

    def kill(self) -> None:
        """As a crash would: SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """SIGTERM, so that guests get their values back; SIGKILL when it does not obey."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = None

    @property
    def _status_file(self) -> Path:
        return self.state / 'status.json'

    def _last_words(self) -> str:
        lines = self.log.read_text(encoding='utf-8', errors='replace').splitlines()
        return ' | '.join(lines[-5:]) or 'it said nothing'


@contextlib.contextmanager
def running(*services: ServiceProcess) -> Iterator[Sequence[ServiceProcess]]:
    """The services run while this is open and are stopped whatever happens."""
    try:
        for service in services:
            service.start()
        yield services
    finally:
        for service in services:
            service.stop()
