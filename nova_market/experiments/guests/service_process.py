# SPDX-License-Identifier: Apache-2.0
"""Runs real services beside an experiment or a test, each a process of its own, ended by its pid."""

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


class Daemon:
    """A command of ours with its own configuration and log below `directory`."""

    def __init__(
        self,
        module: str,
        directory: Path,
        options: Options,
        *,
        words: Sequence[str] = (),
        within: int | None = None,
    ) -> None:
        """module: below nova_market.cmd; options: group -> option -> value; words: of the command line

        within: a process whose network namespace it joins
        """
        self.directory = directory
        self.name = f'nova_market.cmd.{module}'
        self.log = directory / f'{module}.log'
        self.config = directory / 'nova_market.conf'
        self.options = options
        self._words = words
        self._within = within
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        if self._process is None:
            raise ExperimentFailed(f'{self.name} was not started')
        return self._process.pid

    @property
    def ended(self) -> bool:
        """By itself, or it was not started."""
        return self._process is None or self._process.poll() is not None

    def configure(self) -> None:
        """Write its configuration."""
        self.directory.mkdir(parents=True, exist_ok=True)
        parser = configparser.ConfigParser(interpolation=None)
        parser.read_dict(
            {
                group: {k: str(v) for k, v in values.items()}
                for group, values in self.options.items()
            }
        )
        descriptor = os.open(self.config, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, 'w', encoding='utf-8') as stream:
            parser.write(stream)

    def launch(self) -> subprocess.Popen[bytes]:
        """Start it, and wait for nothing."""
        self.configure()
        with self.log.open('ab') as log:
            self._process = subprocess.Popen(
                self.command(*self._words),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | {'PYTHONWARNINGS': 'ignore'},
                start_new_session=True,
            )
        return self._process

    def command(self, *words: str) -> list[str]:
        """It with other words, to be run with the same configuration."""
        enter = ['nsenter', '-t', str(self._within), '-n', '--'] if self._within else []
        program = [sys.executable, '-m', self.name]
        return [*enter, *program, '--config-file', str(self.config), *words]

    def kill(self) -> None:
        """As a crash would: SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """SIGTERM, so that it can clean up; SIGKILL when it does not obey."""
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

    def last_words(self) -> str:
        """The end of its log."""
        lines = self.log.read_text(encoding='utf-8', errors='replace').splitlines()
        return ' | '.join(lines[-5:]) or 'it printed nothing'


class ServiceProcess(Daemon):
    """nova-fairness; its state is below the directory too."""

    def __init__(self, directory: Path, options: Options, within: int | None = None) -> None:
        """options: state_path is set here."""
        self.state = directory / 'state'
        fairness = {**options.get('fairness', {}), 'state_path': self.state}
        super().__init__('fairness', directory, {**options, 'fairness': fairness}, within=within)

    def start(self) -> None:
        """Launch it and wait for its first round.

        :raises ExperimentFailed: it ended or did not run a round in time; quotes its log.
        """
        self.launch()
        deadline = time.monotonic() + START_TIMEOUT
        while not self._status_file.exists():
            if self.ended or time.monotonic() > deadline:
                self.stop()
                raise ExperimentFailed(f'nova-fairness did not start: {self.last_words()}')
            time.sleep(0.1)

    def launch(self) -> subprocess.Popen[bytes]:
        self._status_file.unlink(missing_ok=True)
        return super().launch()

    def status(self) -> dict[str, Any]:
        return dict(json.loads(self._status_file.read_text(encoding='utf-8')))

    @property
    def _status_file(self) -> Path:
        return self.state / 'status.json'


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
