# SPDX-License-Identifier: Apache-2.0
"""CPU weight of guests: cpu.shares of cgroup v1, cpu.weight of cgroup v2.

Implements the CPU shares of IFI-2016.04, section IV-E. Units: as the kernel has them, per whole guest.
Read from the control file (no call to libvirt), written through libvirt, which owns the group and knows
whether systemd does; where that has to wait, a weight is raised in the file meanwhile (rule H17). Values are
live only: Nova writes the domain's configuration anew at each hard reboot.

Differs from the paper: the kernel's whole range, centred on its default; not 1..100.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import libvirt

from nova_market.adapters.hypervisor.cgroup import read_number
from nova_market.adapters.hypervisor.libvirt_host import LibvirtHost
from nova_market.core.host.sample import CPU_SHARES_V1, CPU_WEIGHT_V2, Control, Guest, Limits
from nova_market.core.resource import GuestId

PARAMETER = libvirt.VIR_DOMAIN_SCHEDULER_CPU_SHARES
FILES = {1: 'cpu.shares', 2: 'cpu.weight'}


class CpuShares:
    """Implements ports.Actuator."""

    name = 'cpu'

    def __init__(self, host: LibvirtHost) -> None:
        self._host = host

    @property
    def limits(self) -> Limits:
        version = self._host.cgroups.tree.version('cpu')
        return CPU_WEIGHT_V2 if version == 2 else CPU_SHARES_V1

    def read(self, guests: Sequence[Guest]) -> Mapping[GuestId, Control]:
        self._host.cgroups.search(guests)
        found = {guest.id: self._read(guest) for guest in guests}
        return {guest_id: control for guest_id, control in found.items() if control is not None}

    def write(
        self, values: Mapping[GuestId, int], guests: Sequence[Guest]
    ) -> Mapping[GuestId, str]:
        outcome = self._host.tune_all(
            values,
            guests,
            self.limits,
            lambda domain, value: domain.setSchedulerParametersFlags(
                {PARAMETER: value}, libvirt.VIR_DOMAIN_AFFECT_LIVE
            ),
        )
        for guest in guests:
            if outcome.get(guest.id):
                self._lift(guest, values[guest.id])
        return outcome

    def close(self) -> None:
        """Nothing of its own to undo."""

    def _lift(self, guest: Guest, value: int) -> None:
        """Raise the weight of a guest that libvirt could not write to, in the kernel.

        libvirt waits for another call on the guest, and that one for the guest's emulator: with a low weight
        it may get no CPU to answer for many seconds, so the weight could not be raised because it is low.
        libvirt learns the value at the next change of it that reaches it; a service that stops tries again at
        once.
        """
        file = self._file(guest)
        now = read_number(file) if file else None
        if file and now is not None and now < value <= self.limits.maximum:
            # the guest may have ended
            with suppress(OSError):
                file.write_text(str(value), encoding='ascii')

    def _file(self, guest: Guest) -> Path | None:
        """In which the kernel has the weight; None: its control group is not known."""
        group = self._host.cgroups.locate(guest, 'cpu')
        return group.scope / FILES[group.version] if group else None

    def _read(self, guest: Guest) -> Control | None:
        if guest.dedicated:
            return Control(reason='pinned or realtime')
        file = self._file(guest)
        value = read_number(file) if file else None
        if value is not None:
            return Control(value=value)
        asked: dict[str, int] = {}
        wrong = self._host.tune(
            guest,
            lambda domain: asked.update(
                domain.schedulerParametersFlags(libvirt.VIR_DOMAIN_AFFECT_LIVE)
            ),
        )
        if wrong == 'gone':
            return None
        if PARAMETER in asked:
            return Control(value=int(asked[PARAMETER]))
        return Control(reason=f'not controllable: {wrong or "libvirt names no CPU shares"}')
