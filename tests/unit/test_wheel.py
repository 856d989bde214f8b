# SPDX-License-Identifier: Apache-2.0
"""The wheel: what an installation has that has no source tree beside it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.style.test_layering import ROOT
from tests.support.built import metadata_of, wheel_of_this_tree

pytestmark = pytest.mark.clock

DATA = {
    'etc/nova_market': ('etc/nova_market', ('*.conf', '*.ini', 'power-*')),
    'contrib/grafana': ('share/nova-market/grafana', ('*',)),
    'contrib/prometheus': ('share/nova-market/prometheus', ('*',)),
    'etc/systemd': ('share/nova-market/systemd', ('*',)),
}
"""Folders of the tree: where an installation has them below its prefix, and which files."""


@pytest.fixture(name='path', scope='module')
def path_of_the_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel_of_this_tree(tmp_path_factory.mktemp('wheel'))


@pytest.fixture(name='wheel')
def content_of_the_wheel(path: Path) -> Iterator[ZipFile]:
    with ZipFile(path) as file:
        yield file


def test_it_has_the_files_that_no_program_reads(wheel: ZipFile) -> None:
    """Generators, units, rules and dashboards, byte for byte and executable where they are."""
    expected = {
        f'{place}/{path.name}': path
        for folder, (place, patterns) in DATA.items()
        for pattern in patterns
        for path in (ROOT / folder).glob(pattern)
    }
    assert len(expected) > 15
    found = {
        one.filename.partition('.data/data/')[2]: one
        for one in wheel.infolist()
        if '.data/data/' in one.filename
    }
    assert found.keys() == expected.keys()
    for name, path in expected.items():
        assert wheel.read(found[name]) == path.read_bytes()
        assert bool(found[name].external_attr >> 16 & 0o100) == bool(path.stat().st_mode & 0o100)


def test_its_licence_is_an_expression(path: Path) -> None:
    """PEP 639: for programs that look at licences, and without the classifier that it replaces."""
    found = metadata_of(path)
    assert found['License-Expression'] == 'Apache-2.0'
    assert found['License'] is None
    assert found.get_all('License-File') == ['LICENSE']
    assert not [one for one in found.get_all('Classifier', []) if one.startswith('License')]


def test_samples_are_made_without_the_source_tree(wheel: ZipFile, tmp_path: Path) -> None:
    """By the generators' files of the wheel, as doc/source/install/packages.rst has it."""
    for name, program, kept in (
        ('nova-market-config-generator.conf', 'oslo-config-generator', '[market]'),
        ('nova-market-policy-generator.conf', 'oslopolicy-sample-generator', '"market:'),
    ):
        (inside,) = (one for one in wheel.namelist() if one.endswith(name))
        (tmp_path / name).write_bytes(wheel.read(inside))
        output = tmp_path / f'{name}.sample'
        subprocess.run(
            [program, '--config-file', tmp_path / name, '--output-file', output],
            cwd=tmp_path, check=True, capture_output=True, timeout=120,
        )  # fmt: skip
        assert kept in output.read_text(encoding='utf-8')
