# SPDX-License-Identifier: Apache-2.0
"""A plug-in of pytest for tests inside Nova, ours and Nova's own: -p tests.nova.harness

Nova chooses native threads, as nova-scheduler does from release 34 on. It forbids eventlet then, so that
must come before whatever imports eventlet when it can, which tests/conftest.py does by way of oslo.service.
"""

import importlib
import os
import sys
from contextlib import suppress

os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = '1'

importlib.import_module('nova.monkey_patch').patch()
test = importlib.import_module('nova.test')


def _forget(self: object, name: str) -> None:
    """Nova's tests forget their attributes when they are over; pytest deletes its own once more."""
    with suppress(AttributeError):
        object.__delattr__(self, name)


test.TestCase.__delattr__ = _forget


def _with_paste(self: object) -> None:
    """The wheel has api-paste.ini elsewhere than the source tree."""
    _set_up(self)
    path = os.path.join(sys.prefix, 'etc/nova/api-paste.ini')
    self.conf.set_default('api_paste_config', path, group='wsgi')  # type: ignore[attr-defined]


_fixture = importlib.import_module('nova.tests.fixtures.conf').ConfFixture
_set_up = _fixture.setUp
_fixture.setUp = _with_paste
