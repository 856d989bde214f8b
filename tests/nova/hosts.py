# SPDX-License-Identifier: Apache-2.0
"""Nova's HostState and RequestSpec as values of tests."""

from typing import Any

from nova import objects
from nova.scheduler.host_manager import HostState

objects.register_all()

CELL = '00000000-0000-0000-0000-00000000ce11'
SERVER = '6c84fb90-0000-4000-8000-000000000001'


def state(
    name: str, *, instances: int = 0, aggregates: tuple[dict[str, str], ...] = (), **more: Any
) -> HostState:
    """A host; aggregates: the metadata of each."""
    made = HostState(name, name, CELL)
    made.num_instances = instances
    made.aggregates = [
        objects.Aggregate(name=f'a{number}', hosts=[name], metadata=metadata)
        for number, metadata in enumerate(aggregates)
    ]
    for key, value in more.items():
        setattr(made, key, value)
    return made


def states(count: int, **more: Any) -> list[HostState]:
    return [state(f'host{number}', **more) for number in range(count)]


def spec(
    vcpus: int = 2,
    mib: int = 1024,
    *,
    extra_specs: dict[str, str] | None = None,
    hints: dict[str, list[str]] | None = None,
    project: str | None = 'red',
    count: int = 1,
    target: objects.Destination | None = None,
) -> objects.RequestSpec:
    """A request as the conductor makes it; target: of a server that moves."""
    flavor = objects.Flavor(
        id=1, flavorid='1', name='f', vcpus=vcpus, memory_mb=mib, root_gb=1, ephemeral_gb=0, swap=0,
        extra_specs=extra_specs or {},
    )  # fmt: skip
    return objects.RequestSpec(
        instance_uuid=SERVER,
        project_id=project,
        user_id='user',
        flavor=flavor,
        image=objects.ImageMeta(properties=objects.ImageMetaProps()),
        num_instances=count,
        scheduler_hints=hints,
        requested_destination=target,
        numa_topology=None,
        pci_requests=None,
        instance_group=None,
        availability_zone=None,
        ignore_hosts=None,
        force_hosts=None,
        force_nodes=None,
        limits=objects.SchedulerLimits(),
        retry=None,
        requested_resources=[],
        request_level_params=objects.RequestLevelParams(),
        is_bfv=False,
        security_groups=objects.SecurityGroupList(objects=[]),
        requested_networks=objects.NetworkRequestList(objects=[]),
    )


def moving() -> objects.Destination:
    """What the conductor sets for a server that stays in its cell."""
    return objects.Destination(cell=objects.CellMapping(uuid=CELL))
