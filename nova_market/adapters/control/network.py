# SPDX-License-Identifier: Apache-2.0
"""Egress of one device, divided among guests by HTB classes over netlink.

Implements the network part of IFI-2016.04, section IV-E. How weights become rates: htb_layout. Weights
1..10000, default 100; rates of the constructor in bit/s.

Everything that is known between two rounds is in the kernel: which class is whose (by the MAC addresses
of its filters) and its weight. So a restart changes nothing, and there is nothing to get out of step.

Differs from the 2016 service, which deleted and rebuilt the root qdisc for each guest of each interval
with N * (2 * N + P + 5) processes: here classes are changed in place, in one batch, and only where they
differ; a root qdisc of somebody else stays, and network control says why it does nothing.
"""

import errno
import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nova_market.adapters.control import traffic_control as tc
from nova_market.adapters.control.htb_layout import (
    NETWORK_WEIGHT,
    class_table,
    classes_of,
    mac_addresses,
    weights_in,
    with_new,
)
from nova_market.adapters.control.netlink_socket import Request, RouteSocket
from nova_market.core.host.sample import Control, Guest, Limits
from nova_market.core.resource import GuestId
from nova_market.errors import ConfigurationError
from nova_market.outage_log import OutageLog

LOG = logging.getLogger(__name__)

LEAF = 'fq_codel'
"""Queue of a guest's class, where the kernel has it; otherwise HTB's own choice, pfifo."""

MIN_RATE_BPS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """A request and the guest it is for; None: for all. kind: layout, leaf or cleanup."""

    request: Request
    guest: GuestId | None = None
    kind: str = 'layout'


class NetworkClasses:
    """Implements ports.Actuator. May be called from any thread; calls wait for each other."""

    name = 'network'

    def __init__(
        self,
        device: str,
        rate_bps: int,
        *,
        netns: str | None = None,
        default_share: float = 0.1,
    ) -> None:
        """rate_bps: bit/s of the device; 0 asks it.
        netns: a named network namespace; None is that of the process.
        default_share: part of the rate that is kept for what is no guest's.

        :raises ConfigurationError: no such device or namespace, or a value that can't work.
        """
        self._device = device
        self._netns = netns
        self._share = default_share
        self._check_device()
        if not 0.001 <= default_share <= 0.9:
            raise ConfigurationError(
                f'default_share = {default_share}: it must be in 0.001..0.9, or traffic of the host or of '
                'its guests would stop'
            )
        self._rate = (rate_bps or self._speed()) // 8
        if rate_bps and rate_bps < MIN_RATE_BPS:
            raise ConfigurationError(
                f'{rate_bps} bit/s for network_device {device}: it must be at least {MIN_RATE_BPS}; set '
                '[fairness]network_rate_mbps to what the device can send'
            )
        self._lock = threading.Lock()
        self._route: RouteSocket | None = None
        self._leaf = True
        self._outage = OutageLog(
            LOG, lost='no network control', back=f'network control of {device} again'
        )
        # what is left over could not be taken away: to ask for it each round would be in vain
        self._stuck = False

    @property
    def limits(self) -> Limits:
        return NETWORK_WEIGHT

    def read(self, guests: Sequence[Guest]) -> Mapping[GuestId, Control]:
        """A guest whose class is not complete has neither a value nor a reason: it is to be written.

        So has every guest where classes or filters of guests that left are there: they count in the rates.
        """
        with self._lock:
            try:
                link, tree = self._look()
            except OSError as error:
                return {guest.id: Control(reason=self._trouble(error)) for guest in guests}
        wrong = self._foreign(tree)
        self._say(wrong)
        if wrong:
            return {guest.id: Control(reason=wrong) for guest in guests}
        macs, reasons = mac_addresses(guests)
        complete = self._complete(tree, link.mtu, macs)
        return {
            guest.id: Control(value=complete.get(guest.id), reason=reasons.get(guest.id, ''))
            for guest in guests
        }

    def write(
        self, values: Mapping[GuestId, int], guests: Sequence[Guest]
    ) -> Mapping[GuestId, str]:
        """Lays all guests out, those without a value as they are; classes of others are taken away."""
        present = {guest.id for guest in guests}
        result = {guest_id: '' if guest_id in present else 'gone' for guest_id in values}
        with self._lock:
            try:
                wrong = self._write(values, guests)
            except OSError as error:
                wrong = dict.fromkeys(present, self._trouble(error))
        return {
            guest_id: problem or wrong.get(guest_id, '') for guest_id, problem in result.items()
        }

    def close(self) -> None:
        """Take away what is ours: the kernel then makes its default again. Never raises."""
        with self._lock:
            try:
                self._restore()
            except OSError as error:
                if error.errno != errno.ENODEV:
                    LOG.warning('qdisc of %s is not taken away: %s', self._device, error.strerror)
            finally:
                self._disconnect()

    def _look(self) -> tuple[tc.Link, tc.Tree]:
        if self._route is None:
            self._route = RouteSocket(self._netns)
        link = tc.link(self._route, self._device)
        return link, tc.tree(self._route, link.index)

    def _complete(
        self, tree: tc.Tree, mtu: int, macs: Mapping[GuestId, Sequence[bytes]]
    ) -> dict[GuestId, int]:
        """Guest -> weight of those who have their class and all filters, on a device that is set up."""
        wanted = class_table({}, self._rate, self._share, mtu)
        weights = weights_in(tree)
        for minor in (tc.DEVICE_MINOR, tc.DEFAULT_MINOR):
            found, right = tree.classes.get(minor), wanted[minor]
            if found is None or (found.rate, found.ceil) != (right.rate, right.ceil):
                return {}
        if not (weights and tree.has_table and tree.has_link):
            return {}
        filtered = {(found.mac, found.minor) for found in tree.filters}
        minors = classes_of(macs, tree.filters, tree.classes)
        if not self._stuck and _left_over(tree, minors, macs):
            return {}
        return {
            guest_id: weights[minor]
            for guest_id, minor in minors.items()
            if all((mac, minor) in filtered for mac in macs[guest_id])
        }

    def _write(
        self, values: Mapping[GuestId, int], guests: Sequence[Guest]
    ) -> Mapping[GuestId, str]:
        link, tree = self._look()
        wrong = self._foreign(tree)
        self._say(wrong)
        if wrong:
            return {guest.id: wrong for guest in guests}
        macs, failed = mac_addresses(guests)
        low, high = NETWORK_WEIGHT.minimum, NETWORK_WEIGHT.maximum
        for guest_id, value in values.items():
            if not low <= value <= high:
                failed[guest_id] = f'{value} is not in {low}..{high}'
        known = classes_of(macs, tree.filters, tree.classes)
        minors = with_new(known, macs, tree.classes)
        full = {guest_id: 'no class is left' for guest_id in macs if guest_id not in minors}
        before = weights_in(tree)
        weights: dict[int, int] = {}
        for guest_id, minor in minors.items():
            current = before.get(minor, NETWORK_WEIGHT.default)
            weights[minor] = current if guest_id in failed else values.get(guest_id, current)
        table = class_table(weights, self._rate, self._share, link.mtu)
        steps = self._steps(link.index, tree, table, minors, macs)
        return self._run(steps, minors) | full | failed

    def _steps(
        self,
        index: int,
        tree: tc.Tree,
        table: Mapping[int, tc.HtbClass],
        minors: Mapping[GuestId, int],
        macs: Mapping[GuestId, Sequence[bytes]],
    ) -> list[_Step]:
        """What makes the tree as wanted; what is in use goes only after its successor is there."""
        owners = {minor: guest_id for guest_id, minor in minors.items()}
        steps: list[_Step] = []
        if not tree.ours:
            steps.append(_Step(request=tc.new_root(index)))
            LOG.info(
                'egress of %s is divided among guests from now on, at %.1f Mbit/s',
                self._device, self._rate * 8e-6,
            )  # fmt: skip
        for minor, wanted in table.items():
            found = tree.classes.get(minor)
            if found == wanted:
                continue
            owner = owners.get(minor)
            request = tc.put_class(index, minor, wanted, new=found is None)
            steps.append(_Step(request=request, guest=owner))
            if found is None and minor not in (tc.DEVICE_MINOR, tc.LEDGER_MINOR) and self._leaf:
                request = tc.put_leaf(index, minor, LEAF)
                steps.append(_Step(request=request, guest=owner, kind='leaf'))
        if not tree.has_table:
            steps.append(_Step(request=tc.new_table(index)))
        steps += _filter_steps(index, tree, minors, macs)
        if not tree.has_link:
            steps.append(_Step(request=tc.new_link(index)))
        stale = sorted(minor for minor in tree.classes if minor not in table)
        gone = [tc.delete_class(index, minor) for minor in stale]
        return steps + [_Step(request=request, kind='cleanup') for request in gone]

    def _run(self, steps: Sequence[_Step], minors: Mapping[GuestId, int]) -> dict[GuestId, str]:
        """Guest -> what went wrong.

        :raises OSError: the first failure that is not of one guest only.
        """
        assert self._route is not None
        errors = self._route.batch([step.request for step in steps])
        self._stuck = any(steps[number].kind == 'cleanup' for number in errors)
        failed: dict[GuestId, str] = {}
        for number, error in sorted(errors.items()):
            step = steps[number]
            lost = error.errno in (errno.ENODEV, errno.EPERM)
            if step.kind == 'leaf' and error.errno == errno.ENOENT:
                if self._leaf:
                    LOG.info('this kernel has no %s: classes have a plain queue', LEAF)
                self._leaf = False
            elif step.kind == 'cleanup' and not lost:
                LOG.warning(
                    'a class or filter without a guest stays on %s: %s', self._device, error
                )
            elif step.guest is None or lost:
                raise error
            else:
                where = f'class {tc.MAJOR:x}:{minors[step.guest]:x} on {self._device}'
                failed.setdefault(step.guest, f'{where}: {error.strerror}')
        return failed

    def _restore(self) -> None:
        link, tree = self._look()
        assert self._route is not None
        if tree.ours:
            self._route.ask(tc.delete_root(link.index))
            LOG.info('egress of %s is not divided any more', self._device)

    def _foreign(self, tree: tc.Tree) -> str:
        if tree.root is None or tree.ours:
            return ''
        return (
            f'foreign root qdisc {tree.root} on {self._device}; somebody else needs it: unset '
            f'[fairness]network_device, or take it away (tc qdisc del dev {self._device} root)'
        )

    def _trouble(self, error: OSError) -> str:
        """In words; whatever it was, the next round begins with a new socket."""
        self._disconnect()
        if error.errno == errno.ENODEV:
            reason = f'device {self._device} is gone'
        elif error.errno == errno.EPERM:
            reason = f'{self._device}: not permitted; the service needs CAP_NET_ADMIN'
        else:
            reason = f'{self._device}: netlink: {error.strerror or error}'
        self._say(reason)
        return reason

    def _say(self, reason: str) -> None:
        """One line for each reason, and one when the device is controlled again."""
        if reason:
            self._outage.failed(reason, kind=reason)
        else:
            self._outage.works()

    def _disconnect(self) -> None:
        if self._route is not None:
            self._route.close()
            self._route = None

    def _check_device(self) -> None:
        try:
            with RouteSocket(self._netns) as route:
                devices = tc.links(route)
        except OSError as error:
            raise ConfigurationError(
                f'network namespace {self._netns}: {error.strerror}; `ip netns` lists those that exist'
            ) from None
        if self._device not in devices:
            raise ConfigurationError(
                f'[fairness]network_device = {self._device}: no such device; there are '
                f'{", ".join(devices)}'
            )

    def _speed(self) -> int:
        """bit/s that the device says it has."""
        try:
            # sysfs shows the devices of the namespace that mounted it
            if self._netns is None:
                with open(f'/sys/class/net/{self._device}/speed', encoding='ascii') as stream:
                    speed = int(stream.read())
                if speed > 0:
                    return speed * 1_000_000
        except (OSError, ValueError):
            pass
        raise ConfigurationError(
            f'[fairness]network_rate_mbps = 0 asks {self._device} for its speed, which it does not know '
            '(it is virtual or has no link); set the rate in Mbit/s'
        )


def _left_over(
    tree: tc.Tree, minors: Mapping[GuestId, int], macs: Mapping[GuestId, Sequence[bytes]]
) -> bool:
    """Whether a class or a filter is there for no guest of these."""
    known = {mac for own in macs.values() for mac in own}
    return any(found.mac not in known for found in tree.filters) or not set(tree.classes) <= {
        tc.DEVICE_MINOR,
        tc.DEFAULT_MINOR,
        tc.LEDGER_MINOR,
        *minors.values(),
    }


def _filter_steps(
    index: int,
    tree: tc.Tree,
    minors: Mapping[GuestId, int],
    macs: Mapping[GuestId, Sequence[bytes]],
) -> list[_Step]:
    wanted = {mac: guest_id for guest_id in minors for mac in macs[guest_id]}
    steps: list[_Step] = []
    there: set[bytes] = set()
    for found in tree.filters:
        owner = wanted.get(found.mac)
        if owner is not None and minors[owner] == found.minor and found.mac not in there:
            there.add(found.mac)
        else:
            request = tc.delete_filter(index, found.handle)
            steps.append(_Step(request=request, kind='cleanup'))
    for mac, owner in wanted.items():
        if mac not in there:
            request = tc.new_mac_filter(index, mac, minors[owner])
            steps.append(_Step(request=request, guest=owner))
    return steps
