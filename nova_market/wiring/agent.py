# SPDX-License-Identifier: Apache-2.0
"""Puts the agent of a host together from options: the only place that knows adapters by name."""

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from oslo_config import cfg

from nova_market.adapters.clock import SystemClock
from nova_market.adapters.control.cpu import CpuShares
from nova_market.adapters.control.disk import DiskWeight
from nova_market.adapters.control.memory import MemoryLimit
from nova_market.adapters.control.network import NetworkClasses
from nova_market.adapters.hypervisor.libvirt_host import LibvirtHost
from nova_market.adapters.hypervisor.supply import SupplySettings
from nova_market.adapters.openstack.quotas import OpenStackQuotas
from nova_market.adapters.state_file import JsonFile
from nova_market.conf import exchange as exchange_options
from nova_market.conf import fairness, host
from nova_market.core.exchange.validation import name as check_name
from nova_market.core.fairness.round import FairnessSettings
from nova_market.core.resource import HostName
from nova_market.errors import ConfigurationError, MalformedReport, NovaMarketError
from nova_market.ports import Actuator, Clock, Exchange, HostDriver, Transport, WireFormat
from nova_market.services.exchange.allocation_receiver import AllocationReceiver
from nova_market.services.fairness.agent import Agent, FairnessRecord
from nova_market.services.fairness.log_weights import LogWeights
from nova_market.services.fairness.metrics import FairnessCollector
from nova_market.services.fairness.originals import OriginalValues
from nova_market.services.fairness.progress import RoundUnderWay
from nova_market.services.fairness.quota_reader import QuotaReader
from nova_market.services.fairness.status import status_document, under_way_document
from nova_market.wiring.exchange import build_exchange, engines_of
from nova_market.wiring.names import host_name
from nova_market.wiring.options import check_values

MEBI = 1024 * 1024
MBIT = 1e6 / 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """An agent and what its owner must start, show and close."""

    host: HostName
    agent: Agent
    driver: HostDriver
    actuators: tuple[Actuator, ...]
    controls: tuple[str, ...]
    collector: FairnessCollector
    quotas: QuotaReader | None
    market: AllocationReceiver | None
    status: JsonFile
    under_way: JsonFile
    interval: float

    def start(self) -> None:
        """Begin to read quotas and to listen to other hosts; close the hypervisor when that fails.

        :raises HostUnavailable: the hypervisor does not answer.
        :raises ConfigurationError: the exchange cannot use an address or a key.
        """
        try:
            # what an earlier run that hung has left
            self.under_way.save({})
            if self.quotas is not None:
                self.quotas.start()
            self.agent.start()
        except BaseException:
            self.driver.close()
            raise

    def subscribe(self, wake: Callable[[str], None]) -> None:
        """Call `wake(reason)` when a round should be run early: guests come or go, allocations arrive."""
        self.driver.subscribe(wake)
        if self.market is not None:
            self.market.subscribe(wake)

    def restore(self) -> tuple[int, int]:
        """Put back the guests' original values; (guests that have them, guests that refused)."""
        try:
            found = self.agent.restore()
            for actuator in self.actuators:
                actuator.close()
        finally:
            self.driver.close()
        return found

    def observe(self, record: FairnessRecord) -> None:
        """Show a round that was done."""
        self.collector.observe(record)
        self.status.save(status_document(record, self.host, self.interval, os.getpid()))

    def show_under_way(self, found: RoundUnderWay | None) -> None:
        """Show a round that takes too long, or None: that it has ended."""
        self.under_way.save(under_way_document(found) if found else {})


def build(conf: cfg.ConfigOpts, settings: FairnessSettings, *, dry_run: bool) -> Parts:
    """Everything of the service, nothing started, nothing written.

    dry_run: the agent decides and logs, and writes nothing to guests

    :raises ConfigurationError: an option that cannot work on this host.
    """
    name = HostName(host_name(conf))
    state = _state_directory(conf)
    clock = SystemClock()
    driver = _driver(conf)
    actuators = _actuators(conf, driver, state)
    exchange, market = _exchange(conf, name, settings, clock, state)
    quotas = _quota_reader(conf)
    controls = _controls(conf)
    agent = Agent(
        host=name,
        driver=driver,
        actuators=actuators,
        controls=controls,
        exchange=exchange,
        settings=settings,
        originals=OriginalValues(
            JsonFile(os.path.join(state, 'originals.json'), mode=0o600), _boot()
        ),
        clock=clock,
        quotas=quotas,
        dry_run=dry_run,
        market=market,
        log_weights=_log_weights(state),
    )
    return Parts(
        host=name,
        agent=agent,
        driver=driver,
        actuators=tuple(actuators),
        controls=tuple(controls),
        collector=FairnessCollector(
            name,
            lambda: getattr(exchange, 'dropped', {}),
            lambda: getattr(exchange, 'unused_allocations', 0),
            agent.progress.under_way,
        ),
        quotas=quotas,
        market=market,
        status=JsonFile(status_path(conf), durable=False),
        under_way=JsonFile(under_way_path(conf), durable=False),
        interval=settings.interval,
    )


def _log_weights(state: str) -> LogWeights:
    return LogWeights(JsonFile(os.path.join(state, 'log-weights.json'), durable=False), _boot())


def _driver(conf: cfg.ConfigOpts) -> LibvirtHost:
    return LibvirtHost(
        conf.host.libvirt_uri,
        supply_settings(conf),
        fallback_owner=conf.fairness.fallback_owner,
        owner_kind=conf.fairness.owner,
    )


def supply_settings(conf: cfg.ConfigOpts) -> SupplySettings:
    """The supply as group [host] sets it, in the units of the adapters."""
    options = conf.host
    return SupplySettings(
        cpus=options.cpus,
        smt_core=options.smt_core,
        core_scores={model: _score(model, value) for model, value in options.core_scores.items()},
        calibration_cache=calibration_path(conf),
        reserved_memory_bytes=options.reserved_memory_mib * MEBI,
        measured=options.measure_supply,
        disk_read_bps=options.disk_read_mbps * MEBI,
        disk_write_bps=options.disk_write_mbps * MEBI,
        disk_read_iops=options.disk_read_iops,
        disk_write_iops=options.disk_write_iops,
        net_rx_bps=options.net_rx_mbps * MBIT,
        net_tx_bps=options.net_tx_mbps * MBIT,
    )


def check_options(conf: cfg.ConfigOpts) -> None:
    """Look at every option now: oslo.config otherwise finds a bad value when it is first used.

    :raises ConfigurationError: names the option, its value, the limit and where it stands.
    """
    check_values(conf, fairness.list_opts() + exchange_options.list_opts() + host.list_opts())
    for where, value in (
        ('[fairness]fallback_owner', conf.fairness.fallback_owner),
        ('[host]name', host_name(conf)),
    ):
        try:
            check_name(value, where)
        except MalformedReport as error:
            raise ConfigurationError(str(error)) from None


def status_path(conf: cfg.ConfigOpts) -> str:
    return os.path.join(conf.fairness.state_path, 'status.json')


def under_way_path(conf: cfg.ConfigOpts) -> str:
    return os.path.join(conf.fairness.state_path, 'round.json')


def calibration_path(conf: cfg.ConfigOpts) -> str:
    return os.path.join(conf.fairness.state_path, 'core-score.json')


@contextlib.contextmanager
def state_lock(conf: cfg.ConfigOpts) -> Iterator[None]:
    """One service per host: the state directory is held while this is open.

    :raises NovaMarketError: another process holds it.
    """
    _state_directory(conf)
    path = _lock_path(conf)
    with open(path, 'a+', encoding='ascii') as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                raise
            raise NovaMarketError(
                f'nova-fairness runs already on this host ({path} is held); stop it first'
            ) from None
        yield


def is_running(conf: cfg.ConfigOpts) -> bool:
    """Does a service hold this host's state directory now?"""
    try:
        with open(_lock_path(conf), encoding='ascii') as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _exchange(
    conf: cfg.ConfigOpts, name: HostName, settings: FairnessSettings, clock: Clock, state: str
) -> tuple[Exchange, AllocationReceiver | None]:
    """The exchange of this host, and the market's part of it when the policy has a market."""
    engines = engines_of(conf)
    if not engines:
        return build_exchange(conf, name, settings, clock), None
    receivers: list[AllocationReceiver] = []

    def receiver(transport: Transport, wire: WireFormat) -> AllocationReceiver:
        made = AllocationReceiver(
            host=name,
            transport=transport,
            wire=wire,
            clock=clock,
            engines=engines,
            record=JsonFile(os.path.join(state, 'allocations.json'), durable=False),
        )
        receivers.append(made)
        return made

    return build_exchange(conf, name, settings, clock, receiver), receivers[0]


def _quota_reader(conf: cfg.ConfigOpts) -> QuotaReader | None:
    options = conf.fairness
    if options.quota_source != 'openstack':
        return None
    if options.owner != 'project':
        raise ConfigurationError(
            '[fairness]quota_source = openstack reads quotas of projects, but [fairness]owner = '
            f'{options.owner}; set owner = project or quota_source = none'
        )
    return QuotaReader(OpenStackQuotas.from_conf(conf), options.quota_refresh)


def _actuators(conf: cfg.ConfigOpts, driver: LibvirtHost, state: str) -> list[Actuator]:
    options = conf.fairness
    groups = JsonFile(os.path.join(state, 'groups.json'), mode=0o600)
    made: list[Actuator] = [CpuShares(driver), DiskWeight(driver), MemoryLimit(driver, groups)]
    if options.network_device:
        rate = options.network_rate_mbps * 1_000_000
        share = options.network_default_share
        made.append(NetworkClasses(options.network_device, rate, default_share=share))
    return made


def _controls(conf: cfg.ConfigOpts) -> list[str]:
    options = conf.fairness
    wanted = {
        'cpu': options.cpu_control,
        'memory': options.memory_control == 'auto',
        'disk': options.disk_control == 'auto',
        'network': bool(options.network_device),
    }
    return [name for name, on in wanted.items() if on]


def _lock_path(conf: cfg.ConfigOpts) -> str:
    return os.path.join(conf.fairness.state_path, 'lock')


def _state_directory(conf: cfg.ConfigOpts) -> str:
    path: str = conf.fairness.state_path
    try:
        os.makedirs(path, mode=0o750, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f'[fairness]state_path = {path}: cannot be made ({error.strerror}); name a directory that '
            'the service may write'
        ) from None
    if not os.access(path, os.W_OK):
        raise ConfigurationError(f'[fairness]state_path = {path}: may not be written by this user')
    return path


def _score(model: str, text: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = 0.0
    if not 0 < score < 1e6:
        raise ConfigurationError(
            f'[host]core_scores: score {text!r} of {model!r} is not a number above 0 and below 1000000'
        )
    return score


def _boot() -> str:
    """Identity of the running kernel."""
    return Path('/proc/sys/kernel/random/boot_id').read_text(encoding='ascii').strip()
