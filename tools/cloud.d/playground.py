# SPDX-License-Identifier: Apache-2.0
"""What servers are booted from: the test guest's image, flavors, and a network for everybody. Idempotent.

In the network this machine has a port, too, by which guests reach the market API.

An image whose file has changed is made anew under the same name. The old one is kept under another name:
servers that were booted from it need it when they migrate.
"""

import hashlib
import os
from pathlib import Path

import openstack

GUEST = Path(os.environ['CLOUD_GUEST'])

# name: vCPUs, MiB and extra specs. The hosts have one CPU each unless `up` gives them more, and Nova boots
# no server with more vCPUs than its host has CPUs. Disk 1 GiB: a flavor without one is for administrators.
FLAVORS: dict[str, tuple[int, int, dict[str, str]]] = {
    'tiny': (1, 128, {}),
    'small': (1, 256, {}),
    'medium': (1, 512, {}),
    'large': (1, 1024, {}),
    'wide': (2, 512, {}),
    'favoured': (1, 128, {'quota:cpu_shares': '2048'}),
}


def main() -> None:
    cloud = openstack.connect()
    kernel = image(
        cloud, 'guest-kernel', GUEST / 'vmlinuz', disk_format='aki', container_format='aki'
    )
    initrd = image(
        cloud, 'guest-initrd', GUEST / 'initrd.gz', disk_format='ari', container_format='ari'
    )
    guest = {
        'disk_format': 'qcow2',
        'container_format': 'bare',
        'kernel_id': kernel,
        'ramdisk_id': initrd,
        'os_command_line': 'console=ttyS0 quiet panic=1',
        'hw_rng_model': 'virtio',
        'hw_video_model': 'none',
        'hw_serial_port_count': '1',
        # where a config drive is looked for
        'hw_cdrom_bus': 'scsi',
        'hw_scsi_model': 'virtio-scsi',
    }
    image(cloud, 'guest', GUEST / 'disk.qcow2', **guest)
    # there is no metadata service: only a config drive brings user data
    image(cloud, 'worker', GUEST / 'disk.qcow2', **guest, img_config_drive='mandatory')
    for name, (vcpus, ram, extra_specs) in FLAVORS.items():
        if cloud.compute.find_flavor(name) is None:
            flavor = cloud.compute.create_flavor(name=name, vcpus=vcpus, ram=ram, disk=1)
            cloud.compute.create_flavor_extra_specs(flavor, extra_specs)
    network = cloud.network.find_network('guests') or cloud.network.create_network(
        name='guests', shared=True
    )
    if cloud.network.find_subnet('guests') is None:
        cloud.network.create_subnet(
            name='guests', network_id=network.id, ip_version=4, cidr='10.1.0.0/24', gateway_ip=None
        )
    port = next(cloud.network.ports(name='market', network_id=network.id), None)
    if port is None:
        port = cloud.network.create_port(
            name='market',
            network_id=network.id,
            fixed_ips=[{'ip_address': os.environ['CLOUD_GATE']}],
            device_owner='nova-market:gate',
        )
    Path(os.environ['CLOUD_GATE_PORT']).write_text(f'{port.id} {port.mac_address}\n')


def image(cloud, name, path, **properties):
    """The id of the public image with this content and these properties."""
    content = hashlib.sha256(path.read_bytes())
    content.update(repr(sorted(properties.items())).encode())
    digest = content.hexdigest()
    for old in list(cloud.image.images(name=name)):
        if old.properties.get('content') == digest and old.status == 'active':
            return old.id
        cloud.image.update_image(old, name=f'{name}-replaced-{old.id[:8]}', visibility='private')
    made = cloud.create_image(
        name, filename=str(path), visibility='public', wait=True, content=digest, **properties
    )
    return made.id


if __name__ == '__main__':
    main()
