# SPDX-License-Identifier: Apache-2.0
"""Where the sessions of the documentation run: a cloud in memory, the real API, engine and controller.

A stage takes steps and runs commands. Its clock stands at midnight of 22 November 2026 at first.
"""

import re
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.in_memory.trusts import StaticTrusts
from nova_market.core.resource import HostName, OwnerId
from nova_market.guest_agent import report as agent
from nova_market.services.market import status as engine_status
from tests.support.app_bed import PERIOD, Bed
from tests.support.market.api import ALICE, BOB, OF_ALICE, OF_BOB, roles_of_users
from tests.support.market.api_server import MarketService
from tests.support.market_bed import Market, bidding, host, server
from tests.support.poison import Poison, poison

START = datetime(2026, 11, 22, tzinfo=UTC).timestamp()
PUBLIC = 'https://cloud.example/market'
Run = Callable[..., tuple[int, str, str]]


def market_bed(database: Any) -> Market:
    """One host of 4 cores with a server of Alice and one of Bob, who bids by metadata."""
    return Market(
        database,
        hosts=[host('compute1', cores=4.0, mib=8192.0, zone='nova')],
        servers=[
            server(OF_ALICE, owner=ALICE, where='compute1', vcpus=4, mib=4096),
            server(OF_BOB, owner=BOB, where='compute1', vcpus=4, mib=4096, metadata=bidding(1, 0)),
        ],
        clock=ManualClock(wall=START),
    )


def app_bed(database: Any) -> Bed:
    """One host of 4 cores with four neighbours who bid 1 credit each."""
    neighbours = [
        server(f'n{n}', 'blue', vcpus=4, mib=900, metadata=bidding(1, 0.1)) for n in range(4)
    ]
    made = Bed(database, servers=neighbours, clock=ManualClock(wall=START))
    made.market.grant('blue', 10_000)
    return made


class CloudTrusts(StaticTrusts):
    """Those that the cloud in memory knows."""

    def __init__(self, bed: Bed) -> None:
        super().__init__(roles_of_users())
        self._bed = bed

    def create(self, token: str, user_id: str, project_id: str, roles: Sequence[str]) -> str:
        return str(self._bed.cloud.trust(project_id))


class Stage:
    """service: API, Keystone and Nova over HTTP. run: `openstack market` in this process."""

    def __init__(self, bed: Any, service: MarketService, run: Run, folder: Path) -> None:
        self.bed, self.service, self._run, self.folder = bed, service, run, folder
        self._person = 'alice'

    def prepare(self) -> None:
        """What was there before the first session."""

    def step(self, text: str) -> None:
        if found := re.fullmatch(r'as (\w+)', text):
            self._person = found[1]
        elif found := re.fullmatch(r'after (\d+) periods?', text):
            self.periods(int(found[1]))
        else:
            raise AssertionError(f'no stage has the step "{text}"')

    def periods(self, count: int) -> None:
        self.bed.run(count)

    def command(self, words: list[str]) -> tuple[int, str]:
        """Status and what it printed."""
        if words[:2] == ['openstack', 'market']:
            status, out, err = self._run(self._person, *(self.argument(word) for word in words[2:]))
            return status, out + err
        if words[0] == 'curl':
            return self._curl(words[1:])
        if words == ['nova-market-engine', 'status']:
            history, wall = self.bed.stores.history, self.bed.clock.wall()
            return 0, engine_status.render(engine_status.status_document(history, wall, PERIOD))
        raise AssertionError(f'{words[0]}: stage {type(self).__name__} cannot run it')

    def must(self, person: str, *words: str) -> None:
        status, _, err = self._run(person, *words)
        assert status == 0, err

    def argument(self, word: str) -> str:
        """What is typed for a word of the page: the path of a file that the page shows."""
        path = self.folder / word
        return str(path) if path.is_file() else word

    def _curl(self, words: list[str]) -> tuple[int, str]:
        """The request that these words would send."""
        headers = {'Content-Type': 'application/json'}
        data, url = None, ''
        rest = iter(words)
        for word in rest:
            if word == '-H':
                name, value = next(rest).split(': ', 1)
                headers[name] = value.replace('$(cat /etc/market.credential)', self.credential())
            elif word == '--json':
                data = next(rest).encode()
            else:
                url = word.replace(PUBLIC, f'{self.service.url}/market')
        assert url.startswith(self.service.url), url
        url = re.sub(r'(?<=/apps/)[0-9a-f-]{36}', self.app_id(), url)
        request = urllib.request.Request(url, data=data, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return 0, answer.read().decode()
        except urllib.error.HTTPError as error:
            return 1, error.read().decode()

    def app_id(self) -> str:
        raise AssertionError('this stage has no application')

    def credential(self) -> str:
        raise AssertionError('this stage has no application')


class Tenant(Stage):
    """Alice has 100 credits and bids 1 credit for her server; heaviness comes with the confirmations."""

    def prepare(self) -> None:
        self.must('root', 'account', 'grant', 'astronomy', '100')
        self.must('root', 'account', 'grant', 'biology', '100')
        self.must('alice', 'bid', 'set', 'web-1', '--cpu', '1', '--memory', '0')
        self.bed.enforcement.heavy = {OwnerId(ALICE): 0.27, OwnerId(BOB): -0.02}


class Operator(Stage):
    """Biology has 100 credits, astronomy has none; Alice has a budget, and bids 3 credits.

    Hosts control CPU alone, as by default. Steps: `hosts in shadow` neither apply nor confirm, `hosts
    enforce` do both; `the bid is damaged` writes to the database what no request can.
    """

    def prepare(self) -> None:
        self.bed.enforcement.controls = frozenset({'cpu'})
        self._person = 'root'
        self.must('root', 'account', 'grant', 'biology', '100')
        self.must('alice', 'budget', 'create', 'nightly-build')
        self.must('alice', 'bid', 'set', 'web-1', '--cpu', '3', '--memory', '0')

    def step(self, text: str) -> None:
        if text == 'hosts in shadow':
            self.bed.enforcement.silent = {HostName('compute1')}
        elif text == 'hosts enforce':
            self.bed.enforcement.silent = set()
        elif text == 'the bid is damaged':
            damage = Poison(table='bids', column='max_cpu', value=1e-303, kind='bid')
            poison(self.bed.database, damage, 'server_id = :id', id=OF_ALICE)
        else:
            super().step(text)


class Application(Stage):
    """Alice has 1000 credits; a guest works as fast as its cores let it, and reports."""

    def prepare(self) -> None:
        self.must('root', 'account', 'grant', 'astronomy', '1000')
        self._guest: Guest | None = None

    def command(self, words: list[str]) -> tuple[int, str]:
        status, text = super().command(words)
        if words[2:4] == ['app', 'create'] and status == 0:
            self._guest = Guest(self.bed, self.service, _credential(text), self.folder)
        return status, text

    def periods(self, count: int) -> None:
        assert self._guest is not None, 'an application is created first'
        self._guest.work(count)


class Applications(Stage):
    """The templates of the page are created as they stand there; reports are those of `zephyr`."""

    def prepare(self) -> None:
        self.must('root', 'account', 'grant', 'astronomy', '1000')
        self._credentials = {}
        for path in sorted(self.folder.glob('*.yaml')):
            status, out, err = self._run('alice', 'app', 'create', str(path))
            assert status == 0, err
            self._credentials[path.stem] = _credential(out)

    def app_id(self) -> str:
        apps = self.bed.stores.apps.open()
        return next(one.id for one in apps if one.template['name'] == 'zephyr')

    def credential(self) -> str:
        return self._credentials['zephyr']


def _credential(text: str) -> str:
    found = re.search(r'credential\s*\|\s*(\S+)', text)
    assert found, text
    return found[1]


class Guest:
    """The only application, in its one server: 1000 steps of 3.6 core-seconds, reported by the agent."""

    STEPS = 1000
    WORK = 3600.0

    def __init__(self, bed: Bed, service: MarketService, credential: str, folder: Path) -> None:
        (app,) = bed.stores.apps.open()
        self._bed, self._app, self.credential = bed, app.id, credential
        self._path = folder / 'progress'
        words = ['--url', f'{service.url}/market', '--app', self._app]
        given = agent.parser().parse_args([*words, '--progress-file', str(self._path)])
        self._uptime, self._done = 0.0, 0.0
        self._reporter = agent.Reporter(given, credential, self._app, '', lambda: self._uptime)

    def work(self, periods: int) -> None:
        for _ in range(periods):
            self._bed.run()
            cores = self._bed.cores(self._app)
            if not cores:
                continue  # suspended: nothing in it runs, nor does its clock
            self._uptime += PERIOD
            self._done = min(self._done + cores * PERIOD * self.STEPS / self.WORK, self.STEPS)
            self._path.write_text(f'{self._done} {self.STEPS}')
            try:
                self._reporter.send(self._reporter.report())
            except agent.Ended:
                return


def yaml_blocks(page: Path) -> dict[str, str]:
    """Name of the template -> text, of every YAML block of a page that has one."""
    found = {}
    text = page.read_text(encoding='utf-8')
    for block in re.findall(r'\.\. code-block:: yaml\n\n((?:   .*\n|\n)+)', text):
        body = '\n'.join(line[3:] for line in block.splitlines())
        if name := re.search(r'^name: (\S+)$', body, re.MULTILINE):
            found[f'{name[1]}.yaml'] = body
    return found


STAGES: dict[str, type[Stage]] = {
    'tenant': Tenant,
    'operator': Operator,
    'application': Application,
    'applications': Applications,
}
BEDS: dict[str, Callable[[Any], Any]] = {
    'tenant': market_bed,
    'operator': market_bed,
    'application': app_bed,
    'applications': app_bed,
}
