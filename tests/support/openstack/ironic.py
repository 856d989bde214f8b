# SPDX-License-Identifier: Apache-2.0
"""Keystone and Ironic on 127.0.0.1 as far as the power actuator asks them.

The answers have the fields of Ironic 30 (API 1.95). A node takes an order at once and is `target_power_state`
until it is read once more.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.openstack.json_server import listening
from tests.support.openstack.nova import FakeNova

ORDERS = {'power on': 'power on', 'power off': 'power off', 'soft power off': 'power off'}


class FakeIronic:
    """broken: answer every request for nodes with this status; orders: (node, target), as they came"""

    def __init__(self, names) -> None:
        self.nodes = {
            name: {
                'uuid': f'00000000-0000-4000-8000-{number:012d}', 'name': name,
                'power_state': 'power on', 'target_power_state': None, 'maintenance': False,
                'provision_state': 'active', 'driver': 'redfish', 'links': [],
            }
            for number, name in enumerate(names)
        }  # fmt: skip
        self.broken = 0
        self.asked = 0
        self.orders: list[tuple[str, str]] = []
        self.url = ''
        self._keystone = FakeNova(None)

    def answer(self, method, path, body, _token):
        if path.startswith('/v3'):
            status, document, headers = self._keystone.answer(method, path, body)
            if document and 'token' in document:
                endpoint = {
                    'id': 'b', 'interface': 'public', 'region': 'one', 'region_id': 'one',
                    'url': f'{self.url}/baremetal',
                }  # fmt: skip
                document['token']['catalog'].append(
                    {'type': 'baremetal', 'name': 'ironic', 'id': 'b', 'endpoints': [endpoint]}
                )
            return status, document, headers
        if re.fullmatch(r'/baremetal(/v1)?/?', path):
            version = {
                'id': 'v1', 'status': 'CURRENT', 'version': '1.95', 'min_version': '1.1',
                'links': [{'rel': 'self', 'href': f'{self.url}/baremetal/v1/'}],
            }  # fmt: skip
            return 200, {'versions': [version], 'default_version': version}, {}
        self.asked += 1
        if self.broken:
            return self.broken, {'error_message': {'faultstring': 'broken'}}, {}
        found = re.fullmatch(r'/baremetal/v1/nodes/([^/?]+)(/states/power)?(\?.*)?', path)
        named = [n for n in self.nodes.values() if found and found[1] in (n['name'], n['uuid'])]
        if not named:
            return 404, {'error_message': {'faultstring': f'no {path}'}}, {}
        return self._power(named[0], body) if found[2] else self._shown(named[0])

    def _shown(self, node):
        shown = dict(node)
        node['target_power_state'] = None
        return 200, shown, {}

    def _power(self, node, body):
        target = body['target']
        self.orders.append((node['name'], target))
        node['power_state'] = node['target_power_state'] = ORDERS[target]
        return 202, None, {}


@contextmanager
def serving_ironic(fake: FakeIronic) -> Iterator[FakeIronic]:
    """The fake behind a port of 127.0.0.1."""
    with listening(fake.answer) as fake.url:
        fake._keystone.url = fake.url  # private: its answers name this port
        yield fake
