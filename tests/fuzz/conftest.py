# SPDX-License-Identifier: Apache-2.0
"""What a fuzzed decoder may not have: more memory than this, and a network."""

import resource
import socket
from pathlib import Path

import pytest

from tests.fuzz.limits import MEMORY


@pytest.fixture(scope='module')
def bounded_memory():
    """An allocation beyond what the process has and MEMORY fails."""
    pages = int(Path('/proc/self/statm').read_text(encoding='ascii').split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.fixture(scope='module')
def no_network():
    """Whoever wants to connect, or asks for the address of a name, fails."""

    def refused(*args, **more):
        raise AssertionError('a decoder under test wants to use the network')

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, 'connect', refused)
        patch.setattr(socket, 'getaddrinfo', refused)
        yield
