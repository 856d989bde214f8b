# SPDX-License-Identifier: Apache-2.0
"""The actuator `redfish`: its file, TLS, passwords and sessions, against the emulator of sushy-tools."""

import json
import time

import pytest

from nova_market.adapters.power.redfish import RedfishPower
from nova_market.adapters.power.redfish_hosts import Controller, controllers
from nova_market.core.power.host_step import PowerState
from nova_market.errors import ConfigurationError, PowerRefused, PowerUnavailable
from nova_market.wiring.power import power_actuator
from tests.support.openstack.json_server import listening
from tests.support.servers.redfish import PASSWORD

pytestmark = [pytest.mark.functional, pytest.mark.clock]

HOST = 'compute-1'


@pytest.fixture
def made(emulator, configured):
    """made(...): the actuator, with these entries of its file changed."""

    def make(**changed):
        path = emulator.hosts_file(**changed)
        return power_actuator(configured(actuator='redfish', redfish_hosts=str(path)))

    return make


def test_a_certificate_of_an_unknown_authority_is_refused(made):
    """There is no way to turn this off."""
    with pytest.raises(
        PowerUnavailable, match=r'compute-1: .*127.0.0.1.*certificate verify failed'
    ):
        made(certificates='').state(HOST)


def test_a_wrong_password_is_refused_and_not_shown(made, caplog):
    """The message names the host and the option; no log has the right password or the wrong one."""
    caplog.set_level('DEBUG')
    with pytest.raises(PowerRefused, match=r'does not accept .* \[power\]redfish_hosts') as caught:
        made(password='wrong-sesame').state(HOST)
    made().state(HOST)
    for text in (caplog.text, str(caught.value)):
        assert 'wrong-sesame' not in text and PASSWORD not in text


def test_a_system_that_is_not_there(made):
    """The entry to correct is named."""
    with pytest.raises(PowerRefused, match='no such system; give "system"'):
        made(system='/redfish/v1/Systems/none').state(HOST)


def test_a_controller_that_is_away(made):
    """It is not waited for."""
    before = time.monotonic()
    with pytest.raises(
        PowerUnavailable, match=r'compute-1: its controller https://127.0.0.1:1 does not'
    ):
        made(address='https://127.0.0.1:1').power_on(HOST)
    assert time.monotonic() - before < 10


class Controllers:
    """A controller with sessions: which are open, and what was asked with which token."""

    def __init__(self):
        self.sessions, self.made, self.power, self.allowed = set(), 0, 'On', ['On', 'ForceOff']

    def answer(self, method, path, body, token):
        parts = [one for one in path.split('/') if one]
        if parts == ['redfish', 'v1']:
            links = {'Sessions': {'@odata.id': '/redfish/v1/SessionService/Sessions'}}
            return 200, {
                'Id': 'r', 'Name': 'r', 'RedfishVersion': '1.6.0', 'Links': links,
                'Systems': {'@odata.id': '/redfish/v1/Systems'},
            }, {}  # fmt: skip
        if parts[-1] == 'Sessions' and method == 'POST':
            if (body['UserName'], body['Password']) != ('market', 'x'):
                return 401, {}, {}
            self.made += 1
            self.sessions.add('t')
            return (
                201,
                {},
                {'X-Auth-Token': 't', 'Location': '/redfish/v1/SessionService/Sessions/1'},
            )
        if token not in self.sessions:
            return 401, {}, {}
        if method == 'DELETE':
            self.sessions.clear()
            return 204, None, {}
        if method == 'POST':
            self.power = 'On' if body['ResetType'] == 'On' else 'Off'
            return 204, None, {}
        return 200, self._system(), {}

    def _system(self):
        reset = {
            'target': '/redfish/v1/Systems/1/Actions/ComputerSystem.Reset',
            'ResetType@Redfish.AllowableValues': self.allowed,
        }
        return {
            'Id': '1', 'Name': '1', 'PowerState': self.power, '@odata.id': '/redfish/v1/Systems/1',
            'Actions': {'#ComputerSystem.Reset': reset},
        }  # fmt: skip


@pytest.fixture
def sessions():
    """(a controller with sessions, the actuator); plain HTTP, which the file would refuse."""
    fake = Controllers()
    with listening(fake.answer) as url:
        one = Controller(
            address=url, username='market', password='x', system='/redfish/v1/Systems/1'
        )
        yield fake, RedfishPower({HOST: one}, 10.0)


def test_each_call_has_a_session_and_ends_it(sessions):
    """Controllers have few of them."""
    fake, actuator = sessions
    actuator.power_off(HOST)
    assert actuator.state(HOST) is PowerState.OFF
    assert (fake.made, fake.sessions) == (2, set())


def test_a_controller_that_cannot_shut_down_gracefully_is_forced(sessions):
    """The host is empty; one that allows nothing of it is refused."""
    fake, actuator = sessions
    actuator.power_off(HOST)
    assert fake.power == 'Off'
    fake.allowed = ['Nmi']
    with pytest.raises(PowerRefused, match='allows none of On, ForceOn, but Nmi'):
        actuator.power_on(HOST)
    assert fake.sessions == set()


@pytest.mark.parametrize('state', ['PoweringOn', 'PoweringOff', 'Paused', None])
def test_a_state_between_on_and_off_is_unknown(sessions, state):
    fake, actuator = sessions
    fake.power = state
    assert actuator.state(HOST) is PowerState.UNKNOWN


GOOD = {'address': 'https://10.0.0.1', 'username': 'u', 'password': 'sesame'}


@pytest.mark.parametrize(
    ('entry', 'why'),
    [
        (GOOD | {'address': 'http://10.0.0.1'}, 'h: give address as https://NAME'),
        (GOOD | {'address': 'https://u:p@10.0.0.1'}, 'h: give address'),
        (GOOD | {'address': 'https://10.0.0.1/redfish'}, 'h: give address'),
        (GOOD | {'address': 'https://10.0.0.1:x'}, 'h: give address'),
        (GOOD | {'system': '1'}, 'h: give system as a path'),
        (GOOD | {'certificates': '/nonexistent'}, 'h: there is no file /nonexistent'),
        (GOOD | {'passwd': 'sesame'}, 'unknown field `passwd`'),
        (GOOD | {'password': 1}, 'Expected `str`, got `int`'),
        (GOOD | {'auth': 'digest'}, 'auth'),
        ({'address': 'https://10.0.0.1'}, 'missing required field `username`'),
    ],
    ids=str,
)
def test_an_entry_that_cannot_work(tmp_path, entry, why):
    """The file, the entry and what it must be; no password."""
    path = tmp_path / 'hosts.json'
    path.touch(mode=0o600)
    path.write_text(json.dumps({'h': entry}))
    with pytest.raises(ConfigurationError, match=why) as caught:
        controllers(str(path))
    assert f'[power]redfish_hosts = {path}' in str(caught.value)
    assert 'sesame' not in str(caught.value)


def test_a_file_that_others_may_read(emulator):
    """Of a group too; and one that is not there."""
    path = emulator.hosts_file()
    try:
        path.chmod(0o640)
        with pytest.raises(ConfigurationError, match=r'mode 0640 lets others read .*chmod 600'):
            controllers(str(path))
    finally:
        path.chmod(0o600)
    with pytest.raises(ConfigurationError, match='No such file'):
        controllers('/nonexistent')
    with pytest.raises(ConfigurationError, match='is not set'):
        controllers('')


def test_an_entry_is_shown_without_its_password():
    assert 'sesame' not in repr(Controller(**GOOD))
