# SPDX-License-Identifier: Apache-2.0
"""Endowment: the physical resources that the cloud budgets for a VM.

Implements IFI-2016.04, section III-C.3: eq. (1) and the two definitions before it. Arrays: virtual and
result (vms, resources), supply (resources,), units of core.resource.

Differs from the paper: the default caps eq. (1) at the flavor, because uncapped a lone one-vCPU guest
on an empty 64-core host would be endowed with 64 cores.

A plug-in of `nova_market.endowment` is a function (virtual, supply, cloud) -> endowment.
"""

from collections.abc import Callable

import numpy as np

from nova_market.core.fairness.cloud_norm import CloudNorm, ratio
from nova_market.core.resource import CPU, WITH_VIRTUAL_COUNTERPART, Array

Endowment = Callable[[Array, Array, CloudNorm], Array]


def virtual_resources(
    vcpus: Array, memory_bytes: Array, supply: Array, core_score: float, split: str = 'vcpu'
) -> Array:
    """Virtual resources of the guests of one host, shape (vms, resources).

    A flavor names vCPU and RAM only. For disk and network each guest is given a part of the host's
    supply: `vcpu` by vCPU count (of at least the host's cores, so a lone small guest does not own the
    whole disk), `equal` the paper's 1 / number of VMs (section IV-C).
    """
    count = len(vcpus)
    result = np.zeros((count, len(supply)))
    if not count:
        return result
    if split == 'equal':
        part = np.full(count, 1.0 / count)
    else:
        part = vcpus / max(vcpus.sum(), supply[CPU] / core_score)
    result[:] = part[:, None] * supply
    cpu, memory = WITH_VIRTUAL_COUNTERPART
    result[:, cpu] = vcpus * core_score
    result[:, memory] = memory_bytes
    return result


def host_share(virtual: Array, supply: Array, cloud: CloudNorm) -> Array:
    """e(v) = r(v) * min(1, r(host) / sum of r over the host's VMs): eq. (1) capped at the flavor."""
    del cloud
    return virtual * np.minimum(1.0, ratio(supply, virtual.sum(axis=0)))


def host_share_uncapped(virtual: Array, supply: Array, cloud: CloudNorm) -> Array:
    """e(v) = r(v) * r(host) / sum of r over the host's VMs: eq. (1) as printed."""
    del cloud
    return virtual * ratio(supply, virtual.sum(axis=0))


def cloud_quota(virtual: Array, supply: Array, cloud: CloudNorm) -> Array:
    """e(v) = r(v) * CRS / sum of quotas: first definition of III-C.3.

    Where no quota is known (disk, network) the VRs of the running VMs stand in for it.
    """
    del supply
    base = np.where(cloud.quota > 0, cloud.quota, cloud.virtual)
    return virtual * ratio(cloud.supply, base)


def cloud_running(virtual: Array, supply: Array, cloud: CloudNorm) -> Array:
    """e(v) = r(v) * CRS / sum of r over the cloud's VMs: second definition of III-C.3."""
    del supply
    return virtual * ratio(cloud.supply, cloud.virtual)
