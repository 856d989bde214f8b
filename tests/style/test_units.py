# SPDX-License-Identifier: Apache-2.0
"""The units of systemd: one for each service, each as closed as the service allows."""

import configparser
import subprocess
from pathlib import Path

import pytest

from tests.style.test_layering import ROOT
from tests.style.test_packaging import declared_entry_points

UNITS = sorted((ROOT / 'etc/systemd').glob('*.service'))
ON_CONTROLLERS = [path for path in UNITS if path.stem != 'nova-fairness']
CONFIGURATION = '/etc/nova_market/nova_market.conf'
UWSGI = 'etc/nova_market/nova-market-api-uwsgi.ini'
OF_ITS_OWN = {'type', 'execstart', 'environment', 'limitnofile', 'memorymax', 'tasksmax'}
"""What units of services on controllers may have different values of."""


def section(path: Path, name: str) -> dict[str, str]:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(path, encoding='utf-8')
    return dict(parser[name])


@pytest.mark.parametrize('path', UNITS, ids=lambda path: path.stem)
def test_a_unit_starts_its_program(path: Path) -> None:
    """One that the package installs; the API in uWSGI, with the file that is installed for it."""
    found = section(path, 'Service')
    if path.stem == 'nova-market-api':
        assert found['execstart'] == f'/usr/bin/uwsgi --ini /{UWSGI}'
        assert found['environment'] == f'NOVA_MARKET_CONFIG_FILE={CONFIGURATION}'
    else:
        assert found['execstart'] == f'/usr/bin/{path.stem} --config-file {CONFIGURATION}'
        assert path.stem in {name for _, name, _ in declared_entry_points()}


def test_the_api_in_uwsgi_is_that_of_the_package() -> None:
    """It does not serve without its application, and ends when systemd asks for it."""
    found = section(ROOT / UWSGI, 'uwsgi')
    module, _, attribute = found['module'].partition(':')
    source = (ROOT / f'{module.replace(".", "/")}.py').read_text(encoding='utf-8')
    assert f'{attribute}: ' in source
    assert found['need-app'] == found['die-on-term'] == found['lazy-apps'] == 'true'
    unit = section(ROOT / 'etc/systemd/nova-market-api.service', 'Service')
    assert int(found['processes']) * int(found['threads']) < int(unit['tasksmax'])


def test_services_on_controllers_are_equally_closed() -> None:
    """The same user, directories and restrictions: none of them needs a right on the machine."""
    assert len(ON_CONTROLLERS) > 5
    first, *others = [
        {key: value for key, value in section(path, 'Service').items() if key not in OF_ITS_OWN}
        for path in ON_CONTROLLERS
    ]
    # uWSGI has an exit status of its own for what EX_CONFIG means
    assert first.pop('restartpreventexitstatus') == '22'
    assert first['user'] == 'nova-market'
    assert first['capabilityboundingset'] == ''
    for other in others:
        assert other.pop('restartpreventexitstatus') == '78'
        assert other == first


@pytest.mark.integration('systemd-analyze')
def test_systemd_reads_every_unit(tmp_path: Path) -> None:
    """A key that it does not know it would ignore."""
    for path in UNITS:
        text = path.read_text(encoding='utf-8')
        program = section(path, 'Service')['execstart'].split()[0]
        (tmp_path / path.name).write_text(text.replace(program, '/bin/true'))
    done = subprocess.run(
        ['systemd-analyze', 'verify', '--man=no', *sorted(tmp_path.iterdir())],
        check=False, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, '')
