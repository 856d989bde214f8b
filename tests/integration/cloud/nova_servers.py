# SPDX-License-Identifier: Apache-2.0
"""Servers as a tenant asks Nova for them, and where its scheduler puts them."""

from openstack import exceptions as sdk_errors
from openstack.connection import Connection

from tests.integration.cloud.waiting import until

NOVA = '2.90'
REFUSED = 'no valid host'


def create(connection: Connection, name: str, flavor: str, **more: object) -> str:
    """The id of a new server; more: of the request, `hints` of the scheduler."""
    hints = more.pop('hints', {})
    body = {
        'name': name,
        'flavorRef': connection.compute.find_flavor(flavor, ignore_missing=False).id,
        'imageRef': connection.image.find_image('guest', ignore_missing=False).id,
        'networks': [{'uuid': connection.network.find_network('guests', ignore_missing=False).id}],
        **more,
    }
    asked = {'server': body, 'os:scheduler_hints': hints}
    answer = connection.compute.post('/servers', json=asked, microversion=NOVA)
    sdk_errors.raise_from_response(answer)
    return str(answer.json()['server']['id'])


def settled(admin: Connection, servers: list[str]) -> None:
    """Each is ACTIVE or ERROR."""

    def done() -> bool:
        return all(admin.compute.get_server(s).status in {'ACTIVE', 'ERROR'} for s in servers)

    until(done)


def remove(admin: Connection, servers: list[str]) -> None:
    for server in servers:
        admin.compute.delete_server(server, ignore_missing=True)
    for server in servers:
        until(lambda: admin.compute.find_server(server, ignore_missing=True) is None)  # noqa: B023


def placed(admin: Connection, tenant: Connection, name: str, flavor: str, **more: object) -> str:
    """The host of a server that is gone afterwards, or REFUSED."""
    server = create(tenant, name, flavor, **more)
    try:
        settled(admin, [server])
        found = admin.compute.get_server(server)
        if found.status == 'ACTIVE':
            return str(found.compute_host)
        assert 'No valid host' in found.fault['message'], found.fault
        return REFUSED
    finally:
        remove(admin, [server])
