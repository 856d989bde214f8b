# SPDX-License-Identifier: Apache-2.0
"""The plug-ins in a real nova-scheduler and nova-api: by the market while it is known, else as by Nova.

Two servers that bid much fill h1's core; three that bid nothing take more of h2's memory and CPUs than those
do of h1's. So Nova alone prefers h1, and the market h2.
"""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import openstack
import pytest
from openstack import exceptions as sdk_errors

from nova_market.core.ledger.money import MICRO
from nova_market.core.rebalancing.cordon import CLOSED_TRAIT
from nova_market.scheduler.snapshot_cache import AGAIN, KNOWN, SILENT, UNREAD
from nova_market.scheduler.snapshot_cache import LOG as CACHE
from tests.integration.cloud.conftest import STATE, Cloud
from tests.integration.cloud.deployed_market import MarketBed, port_of
from tests.integration.cloud.fault_proxy import DOWN, OPEN, SLOW, FaultProxy
from tests.integration.cloud.nova_servers import NOVA, REFUSED, create, placed, remove, settled
from tests.integration.cloud.waiting import until

pytestmark = [
    pytest.mark.cloud('mariadbd', 'libvirtd', 'ovs-vswitchd', 'qemu-system-x86_64'),
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings('ignore::PendingDeprecationWarning'),
]

LOUD = {'bid_load_weight_multiplier': '100'}
MUTE = {f'{n}_weight_multiplier': '0' for n in ('bid_load', 'allocation_error', 'heaviness')}
FLAVORS = {
    'scheduler.paid': {'market:affordable_periods': '10'},
    'scheduler.steered': {f'trait:{CLOSED_TRAIT}': 'forbidden'},
}
LOG = STATE / 'log' / 'nova-scheduler.log'

Json = dict[str, Any]
Connection = openstack.connection.Connection


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The market with a proxy before its API; place(flavor): where a new server of emil goes."""

    bed: MarketBed
    api: str
    proxy: FaultProxy
    admin: Connection
    emil: Connection

    def place(self, flavor: str) -> str:
        """Its host, or REFUSED; the server is gone afterwards."""
        return placed(self.admin, self.emil, f'scheduler-{flavor}', flavor)

    def snapshot(self) -> Json:
        """What the API tells the scheduler, or {} before the first round."""
        url = f'{self.api}/v1/scheduler-snapshot'
        token = {'X-Auth-Token': self.admin.auth_token}
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=token)) as answer:
                return dict(json.load(answer)['scheduler_snapshot'])
        except urllib.error.HTTPError:
            return {}

    def closed(self) -> set[str]:
        """Hosts with our trait; that nobody has it and that nobody knows it are the same."""
        path = f'/resource_providers?required={CLOSED_TRAIT}'
        found = self.admin.placement.get(path, microversion='1.18').json()
        return {provider['name'] for provider in found.get('resource_providers', ())}


@pytest.fixture(scope='module')
def flavors(admin: Connection) -> Iterator[Mapping[str, str]]:
    """name -> id of flavors with extra specs of the market, all of the size of tiny."""
    made = {}
    for name, extra_specs in FLAVORS.items():
        if (left := admin.compute.find_flavor(name)) is not None:
            admin.compute.delete_flavor(left)
        flavor = admin.compute.create_flavor(name=name, vcpus=1, ram=128, disk=1)
        made[name] = flavor.id
        sdk_errors.raise_from_response(write(admin, flavor.id, extra_specs))
    yield made
    for flavor_id in made.values():
        admin.compute.delete_flavor(flavor_id)


def write(admin: Connection, flavor: str, extra_specs: Mapping[str, str]) -> Any:
    """nova-api's answer."""
    return admin.compute.post(
        f'/flavors/{flavor}/os-extra_specs',
        json={'extra_specs': dict(extra_specs)},
        microversion=NOVA,
    )


@pytest.fixture(scope='module')
def scene(
    cloud: Cloud,
    admin: Connection,
    environment: dict[str, str],
    flavors: Mapping[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Scene]:
    port = port_of(environment['NOVA_MARKET_API_URL'])
    proxy = FaultProxy(port, port + 1)
    bed = MarketBed(cloud, environment, tmp_path_factory.mktemp('market'), api_port=port + 1)
    made = Scene(
        bed=bed,
        api=f'http://127.0.0.1:{port + 1}',
        proxy=proxy,
        admin=admin,
        emil=bed.connection('emil'),
    )
    try:
        proxy.be(OPEN)
        servers = bidders(made)
        bed.start()
        endow(made)
        until(lambda: bids(made.snapshot()).get('h1', 0.0) > 19.9 * MICRO)
        yield made
        remove(admin, servers)
    finally:
        bed.close()
        proxy.be(DOWN)


def bidders(scene: Scene) -> list[str]:
    """Dora's two on h1 bid ten credits for a core, emil's three on h2 nothing for twice the memory."""
    dora = scene.bed.connection('dora')
    rich, poor = ({'market:bid_cpu': b, 'market:bid_memory': '0'} for b in ('10', '0'))
    made = [create(dora, f'd{n}', 'tiny', host='h1', metadata=rich) for n in range(2)]
    made += [create(scene.emil, f'e{n}', 'small', host='h2', metadata=poor) for n in range(3)]
    settled(scene.admin, made)
    assert {scene.admin.compute.get_server(one).status for one in made} == {'ACTIVE'}
    return made


def endow(scene: Scene) -> None:
    """Dora has credits for hours, emil none."""
    ids = {name: f'project:{scene.bed.cloud.project_id(name)}' for name in ('dora', 'emil')}

    def opened() -> bool:
        listed = scene.bed.market('admin', 'account', 'list', '--all-projects')
        return set(ids.values()) <= {account['ID'] for account in listed}

    until(opened)
    scene.bed.market('admin', 'account', 'grant', ids['dora'], '100000')
    balance = scene.bed.market('emil', 'account', 'show')['balance']
    if balance:
        scene.bed.market('admin', 'account', 'revoke', ids['emil'], str(balance / MICRO))


def bids(snapshot: Json) -> dict[str, float]:
    """Host -> what is bid there for CPU."""
    return (
        dict(zip(snapshot['hosts']['name'], snapshot['hosts']['bids'][0], strict=True))
        if snapshot
        else {}
    )


@contextmanager
def aggregate(scene: Scene, multipliers: Mapping[str, str]) -> Iterator[None]:
    """Both hosts are in one with these multipliers, which count instead of those of nova.conf."""
    compute = scene.admin.compute
    made = compute.create_aggregate(name='scheduler')
    try:
        for host in ('h1', 'h2'):
            compute.add_host_to_aggregate(made, host)
        compute.set_aggregate_metadata(made, multipliers)
        yield
    finally:
        for host in ('h1', 'h2'):
            compute.remove_host_from_aggregate(made, host)
        compute.delete_aggregate(made)


@pytest.fixture
def loud(scene: Scene) -> Iterator[None]:
    """Bids outweigh Nova's own weighers."""
    with aggregate(scene, LOUD):
        yield


@pytest.fixture
def mute(scene: Scene) -> Iterator[None]:
    """Filters count, weighers do not."""
    with aggregate(scene, MUTE):
        yield


def logged() -> Callable[[], str]:
    """What nova-scheduler logs from now on."""
    start = LOG.stat().st_size

    def since() -> str:
        with LOG.open('rb') as stream:
            stream.seek(start)
            return stream.read().decode(errors='replace')

    return since


def is_known(scene: Scene) -> bool:
    """Does the market count? Then emil, who has no credits, is refused what has to be paid."""
    return scene.place('scheduler.paid') == REFUSED


def is_read(scene: Scene) -> bool:
    """Does the market count, and is no outage of an earlier test open, whose end would be logged later?"""
    lines = [line for line in LOG.read_text(errors='replace').splitlines() if CACHE.name in line]
    news = [line for line in lines if UNREAD in line or AGAIN in line]
    return is_known(scene) and not (news and UNREAD in news[-1])


def without_the_cut(lines: Sequence[str]) -> list[str]:
    """The proxy cuts connections when it changes: a look that meets that is an outage until the next look."""
    left: list[str] = []
    for line in lines:
        if left and AGAIN in line and UNREAD in left[-1] and 'Connection aborted' in left[-1]:
            left.pop()
        else:
            left.append(line)
    return left


@pytest.mark.usefixtures('mute')
def test_by_themselves_novas_weighers_prefer_the_emptier_host(scene: Scene):
    """What the other tests compare with. The market is known: who can't pay is refused."""
    until(lambda: is_known(scene))
    assert scene.place('tiny') == 'h1'


@pytest.mark.usefixtures('loud')
def test_servers_go_where_little_is_bid(scene: Scene):
    """Against what Nova's own weighers say."""
    assert scene.place('tiny') == 'h2'


def test_the_real_hosts_tell_how_heavy_projects_are(scene: Scene):
    """From nova-fairness through a round to the scheduler: of both projects and of both hosts."""

    def heavy() -> bool:
        snapshot = scene.snapshot()
        parts = [snapshot[part].get('heaviness', []) for part in ('projects', 'hosts')]
        return all(sum(value is not None for value in part) >= 2 for part in parts)

    until(heavy)


def test_nova_api_refuses_a_wrong_value(scene: Scene, flavors: Mapping[str, str]):
    """With a message that names the key and what it may be; the flavor is as it was."""
    for key, value, range_ in (
        ('market:bid_cpu', '-3', '0 to 9007199254.740992'),
        ('market:class', 'gold', 'long, short, best-effort'),
    ):
        answer = write(scene.admin, flavors['scheduler.paid'], {key: value})
        assert answer.status_code == 400
        message = answer.json()['badRequest']['message']
        assert key in message
        assert range_ in message
    found = scene.admin.compute.get_flavor(flavors['scheduler.paid'])
    assert scene.admin.compute.fetch_flavor_extra_specs(found).extra_specs == dict(
        FLAVORS['scheduler.paid']
    )


@pytest.mark.usefixtures('mute')
def test_a_crowded_host_is_closed_by_a_trait(scene: Scene):
    """Its servers should get two cores of one: flavors that forbid the trait go elsewhere. Then off again."""
    scene.bed.engine_options = {'steering': {'traits': 'true'}}
    scene.bed.rebalance('off')
    until(lambda: scene.closed() == {'h1'})
    assert scene.place('scheduler.steered') == 'h2'
    assert scene.place('tiny') == 'h1'
    scene.bed.engine_options = {}
    scene.bed.rebalance('off')
    until(lambda: not scene.closed())
    assert scene.place('scheduler.steered') == 'h1'


@pytest.mark.usefixtures('loud')
def test_the_last_round_counts_while_the_api_restarts(scene: Scene):
    """Killed and started again within the age limit: placement does not notice."""
    until(lambda: is_known(scene))
    since = logged()
    scene.bed.api.kill()
    scene.proxy.be(DOWN)
    try:
        assert scene.place('tiny') == 'h2'
    finally:
        scene.bed.api.launch()
        scene.proxy.be(OPEN)
        until(scene.bed.answers)
    assert SILENT not in since()


def lie(snapshot: Json) -> bytes:
    return json.dumps({'scheduler_snapshot': snapshot}).encode()


UNREADABLE = [UNREAD, SILENT, AGAIN, KNOWN]
WAYS: dict[str, tuple[list[str], Callable[[Json], str | bytes]]] = {
    'down': (UNREADABLE, lambda snapshot: DOWN),
    'slow': (UNREADABLE, lambda snapshot: SLOW),
    'garbage': (UNREADABLE, lambda snapshot: b'<html>welcome</html>'),
    'of another format': (UNREADABLE, lambda snapshot: lie(snapshot | {'format': 99})),
    'with negative capacity': (
        UNREADABLE,
        lambda snapshot: lie(
            snapshot | {'period': 1, 'hosts': snapshot['hosts'] | {'capacity': [[-1], [-1]]}}
        ),
    ),
    'stale': ([SILENT, KNOWN], lambda snapshot: lie(snapshot | {'age': 1e6})),
}
"""name -> (what the scheduler logs, what the proxy is then)"""


@pytest.mark.usefixtures('loud')
@pytest.mark.parametrize('way', WAYS)
def test_without_a_market_servers_are_placed_as_by_nova(scene: Scene, way: str):
    """Nobody is refused, nothing is preferred; one line says so, one that it is over; no fault is logged."""
    said, answer = WAYS[way]
    until(lambda: is_read(scene))
    since = logged()
    if way == 'down':
        scene.bed.api.kill()
    scene.proxy.be(answer(scene.snapshot()) if way != 'down' else DOWN)
    try:
        until(lambda: not is_known(scene))
        assert scene.place('tiny') == 'h1'
    finally:
        if way == 'down':
            scene.bed.api.launch()
        scene.proxy.be(OPEN)
        until(scene.bed.answers)
    until(lambda: is_known(scene))
    lines = since().splitlines()
    mine = [line for line in lines if CACHE.name in line]
    news = without_the_cut(mine)
    assert [next((one for one in said if one in line), line) for line in news] == said
    faults = ('Traceback', ' ERROR ', ' WARNING nova_market', '18781')
    assert not [line for line in lines if line not in mine and any(word in line for word in faults)]
