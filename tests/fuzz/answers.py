# SPDX-License-Identifier: Apache-2.0
"""Answers of machines that are asked: the market's API, other regions, webhooks, controllers of hosts."""

import io
import json

import numpy as np
import pytest
import requests

from nova_market.adapters.notice.webhook import HttpsWebhook, WebhookSettings
from nova_market.adapters.power.redfish import RedfishPower
from nova_market.adapters.power.redfish_hosts import Controller
from nova_market.core.scheduler import snapshot_reader
from nova_market.core.scheduler.snapshot import document_of, snapshot_of
from nova_market.core.tender import region_answer
from nova_market.errors import (
    BadRegionAnswer,
    BadSnapshot,
    NoticeFailed,
    NoticeRefused,
    PowerRefused,
    PowerUnavailable,
)
from tests.support.scheduler_builders import held, quiet

REQUEST = '00000000-0000-4000-8000-0000000000aa'
EXPECTED = region_answer.Expected(
    request_id=REQUEST,
    project_id='red',
    user_id='u',
    servers=1,
    time_limit=600,
)
OFFER = {
    'id': '00000000-0000-4000-8000-000000000001',
    'number': 1,
    'request_id': REQUEST,
    'project_id': 'red',
    'user_id': 'u',
    'region': 'East',
    'queue_id': REQUEST,
    'queue': 'night',
    'state': 'open',
    'flavor': 'small',
    'servers': 1,
    'time_limit': 600,
    'how': 'idle_worker',
    'count': 1,
    'cost': 1000,
    'prices': {'core_hour': 6000},
    'seconds': 600.0,
    'start': '2027-01-15T08:00:00Z',
    'finish': '2027-01-15T08:10:00Z',
    'utility': 'fastest',
    'weight': 0.5,
    'deadline': None,
    'created_at': '2027-01-15T08:00:00Z',
    'valid_until': '2027-01-15T08:05:00Z',
    'fees': 0,
    'accepted_at': None,
    'job_id': None,
    'refunded': 0,
}
SNAPSHOTS = (
    quiet(),
    quiet(heaviness=np.array([0.5]), share=np.array([1.0]), reserved=held()),
)
HOOK = b'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n'
CHUNKED = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'

CONTROLLER = Controller(
    address='https://bmc.example',
    username='market',
    password='sesame',
    system='/redfish/v1/Systems/1',
    auth='basic',
)
ROOT = {
    '@odata.id': '/redfish/v1/',
    'Id': 'RootService',
    'RedfishVersion': '1.5.0',
    'UUID': REQUEST,
    'Systems': {'@odata.id': '/redfish/v1/Systems'},
}
SYSTEM = {
    '@odata.id': '/redfish/v1/Systems/1',
    'Id': '1',
    'UUID': REQUEST,
    'Name': 'compute-1',
    'PowerState': 'On',
    'Actions': {
        '#ComputerSystem.Reset': {
            'target': '/redfish/v1/Systems/1/Actions/ComputerSystem.Reset',
            'ResetType@Redfish.AllowableValues': ['On', 'ForceOff', 'GracefulShutdown'],
        }
    },
}
STATUSES = (200, 401, 404, 500, 204, 302)
DEEP = b'[' * 5000
"""JSON that is nested too deeply for the decoder; it was no error that the power actuator knew."""


def snapshot(data):
    snapshot_of(snapshot_reader.read_answer(data))


def region(data):
    region_answer.read_answer(data, EXPECTED)


class _Connection:
    """What HttpsWebhook has after it has connected: everything is sent, and this is the answer."""

    def __init__(self, answer):
        self._answer = answer

    def do_handshake(self):
        """There is nobody."""

    def sendall(self, data):
        """Nobody reads it."""

    def makefile(self, mode):
        del mode
        return io.BytesIO(self._answer)

    def close(self):
        """Nothing is open."""


class _Webhook(HttpsWebhook):
    def __init__(self, answer):
        super().__init__(WebhookSettings(timeout=1.0))
        self._answer = answer

    def _socket(self, host, port, end):  # private: where the network begins
        return _Connection(self._answer)


def webhook(data):
    _Webhook(data).post('https://hook.example/x', {}, b'{}')


def redfish(data):
    """The first byte is the status of the answer for the system; the root is in order."""

    def send(adapter, request, **more):
        del adapter, more
        answer = requests.Response()
        is_root = request.path_url.rstrip('/') == '/redfish/v1'
        content = json.dumps(ROOT).encode() if is_root else data[1:]
        answer.status_code = 200 if is_root else STATUSES[(data[0] if data else 0) % len(STATUSES)]
        answer.headers['Content-Type'] = 'application/json'
        answer.raw, answer.request, answer.url = io.BytesIO(content), request, request.url
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(requests.adapters.HTTPAdapter, 'send', send)
        patch.setattr('sushy.connector.time.sleep', lambda seconds: None)
        power = RedfishPower({'compute-1': CONTROLLER}, 1.0)
        power.state('compute-1')
        power.power_off('compute-1')


TARGETS = {
    'nova_market.core.scheduler.snapshot_reader.read_answer': {
        'decode': snapshot,
        'seeds': tuple(
            json.dumps({'scheduler_snapshot': document_of(one)}).encode() for one in SNAPSHOTS
        ),
        'errors': (BadSnapshot,),
    },
    'nova_market.core.tender.region_answer.read_answer': {
        'decode': region,
        'seeds': (
            json.dumps({'request_id': REQUEST, 'offers': [OFFER], 'why': ['a queue']}).encode(),
        ),
        'errors': (BadRegionAnswer,),
    },
    'nova_market.adapters.notice.webhook.HttpsWebhook': {
        'decode': webhook,
        'seeds': (HOOK, CHUNKED),
        'errors': (NoticeFailed, NoticeRefused),
    },
    'nova_market.adapters.power.redfish.RedfishPower': {
        'decode': redfish,
        'seeds': (b'\0' + json.dumps(SYSTEM).encode(), b'\0' + DEEP, b'\1' + DEEP),
        'errors': (PowerRefused, PowerUnavailable),
    },
}
