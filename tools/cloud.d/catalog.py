# SPDX-License-Identifier: Apache-2.0
"""Fills keystone: service users and endpoints, and the demo projects with a user each. Idempotent.

Read from the environment: OS_* of the administrator, URL_* of the APIs, CLOUD_PROJECTS and passwords.
"""

import os

import openstack

SERVICES = (
    ('nova', 'compute', os.environ['URL_NOVA_API'] + '/v2.1'),
    ('placement', 'placement', os.environ['URL_PLACEMENT']),
    ('glance', 'image', os.environ['URL_GLANCE']),
    ('neutron', 'network', os.environ['URL_NEUTRON_API']),
    ('market', 'market', os.environ['URL_MARKET_API']),
)


def main() -> None:
    identity = openstack.connect().identity
    roles = {name: role(identity, name) for name in ('admin', 'service', 'member', 'reader')}
    service_project = project(identity, 'service')
    endpoints = {(e.service_id, e.interface): e for e in identity.endpoints()}
    for name, kind, url in SERVICES:
        account = user(identity, name, os.environ['SERVICE_PASSWORD'])
        for wanted in ('admin', 'service'):
            identity.assign_project_role_to_user(service_project, account, roles[wanted])
        service = identity.find_service(name) or identity.create_service(name=name, type=kind)
        for interface in ('public', 'internal'):
            have = endpoints.get((service.id, interface))
            if have is None:
                identity.create_endpoint(
                    service_id=service.id, interface=interface, url=url, region_id='RegionOne'
                )
            elif have.url != url:
                identity.update_endpoint(have, url=url)
    for name in os.environ['CLOUD_PROJECTS'].split():
        account = user(identity, name, os.environ[f'{name.upper()}_PASSWORD'])
        identity.assign_project_role_to_user(project(identity, name), account, roles['member'])


def role(identity, name):
    return identity.find_role(name) or identity.create_role(name=name)


def project(identity, name):
    return identity.find_project(name) or identity.create_project(name=name, domain_id='default')


def user(identity, name, password):
    return identity.find_user(name) or identity.create_user(
        name=name, password=password, domain_id='default'
    )


if __name__ == '__main__':
    main()
