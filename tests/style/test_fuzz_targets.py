# SPDX-License-Identifier: Apache-2.0
"""Every decoder of what others write is fuzzed, and no module decodes anything unlisted."""

import importlib
import re
from pathlib import Path

import pytest

from tests.fuzz.targets import DECODERS, TARGETS

ROOT = Path(__file__).parents[2] / 'nova_market'

DECODES = re.compile(
    r'json\.loads?\(|\.json\(\)|yaml\.(safe_)?load\(|msgspec\.(json|msgpack)\.(decode|Decoder)\b'
    r'|gzip\.(decompress|open)\(|base64\.b64decode\('
)

OURS = {
    'adapters/state_file.py': 'a file that this service has written',
    'adapters/openstack': 'answers of Keystone, Nova and Placement, which the services trust',
    'adapters/power/redfish_hosts.py': "the operator's file",
    'api/handlers/worker.py': 'the output of a job, which is checked by the body that it is in',
    'core/job/worker_boot.py': 'in a guest, what this service has put into its user data',
    'core/notice/signature.py': 'a secret that this service has made',
    'db': 'what this service has stored',
    'guest_agent': 'answers of the market API, in a guest, which trusts it',
    'osc/v1': 'errors of the market API, which its client trusts; files are listed',
    'playground': 'what a playground has written into its own directory',
    'sdk': 'answers of the market API, which its client trusts',
    'sim/scenario': "the experimenter's file",
    'experiments': "the experimenter's file",
    'tempest_plugin': 'answers of the market API, which it tests',
    'testbed': 'what a test has started',
}
"""Where something is decoded that no other party writes, and who writes it."""


def modules():
    """Those that decode something, as paths below nova_market."""
    for path in sorted(ROOT.rglob('*.py')):
        if DECODES.search(path.read_text(encoding='utf-8')):
            yield path.relative_to(ROOT).as_posix()


def listed(module):
    name = 'nova_market.' + module.removesuffix('.py').replace('/', '.') + '.'
    return any(decoder.startswith(name) for decoder in DECODERS)


@pytest.mark.parametrize('name', DECODERS)
def test_a_decoder_of_the_list_exists_and_has_a_target(name):
    module, _, attribute = name.rpartition('.')
    assert hasattr(importlib.import_module(module), attribute)
    assert TARGETS[name].seeds


def test_there_is_no_target_beside_the_list():
    assert set(TARGETS) == set(DECODERS)


@pytest.mark.parametrize('module', sorted(modules()))
def test_a_module_that_decodes_is_listed(module):
    """As a decoder, or with the reason why nobody else writes what it reads. core/exchange/frame.py is what
    adapters/transport/wire_format.py decodes with."""
    indirect = {'core/exchange/frame.py', 'core/exchange/codec.py'}
    ours = any(module == one or module.startswith(f'{one}/') for one in OURS)
    assert ours or listed(module) or module in indirect
