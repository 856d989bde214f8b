# SPDX-License-Identifier: Apache-2.0
"""doc/source/install/packages.rst is true: programs, units, directories, data files."""

import re

from nova_market.cmd.extras import EXTRAS
from tests.style.test_layering import ROOT
from tests.style.test_packaging import declared_entry_points, setup_cfg, units
from tests.style.test_units import UNITS, section

PAGE = (ROOT / 'doc/source/install/packages.rst').read_text(encoding='utf-8')


def rows(title: str) -> list[list[str]]:
    """Cells of the table in the section of this title, without its head."""
    text = re.split(rf'^{title}\n=+\n', PAGE, flags=re.MULTILINE)[1]
    text = re.split(r'^\S.*\n=+\n', text, flags=re.MULTILINE)[0]
    return [
        re.split(r'\n     - ', row) for row in re.split(r'^   \* - ', text, flags=re.MULTILINE)[2:]
    ]


def test_every_program_is_in_one_package() -> None:
    """And a service is in one that is called like it."""
    packages = {
        cells[0].strip('`'): re.findall('``(.*?)``', cells[1]) for cells in rows('Which packages')
    }
    programs = [program for found in packages.values() for program in found]
    declared = [name for group, name, _ in declared_entry_points() if group == 'console_scripts']
    assert sorted(programs) == sorted(declared)
    assert {name for name in units() if packages.get(name) == [name]} == units()


def test_packages_need_the_extras_of_their_programs() -> None:
    """Those that a program names when a library is missing."""
    for _, programs, extras, _ in rows('Which packages'):
        needed = {
            extra
            for program in re.findall('``(.*?)``', programs)
            for extra in EXTRAS.get(program, '').split(',')
        }
        assert set(re.findall('``(.*?)``', extras)) == needed - {''}, programs


def test_directories_and_user_are_those_of_the_units() -> None:
    """With the modes that systemd gives them."""
    table = {cells[0].strip('`'): cells[1:] for cells in rows('User and directories')}
    found = {}
    for path in UNITS:
        unit = section(path, 'Service')
        owner = f'``{unit.get("user", "root")}``'
        for key, parent in (('statedirectory', '/var/lib'), ('logsdirectory', '/var/log')):
            found[f'{parent}/{unit[key]}'] = [owner, unit[f'{key}mode']]
    assert {name: cells[:2] for name, cells in table.items() if name != '/etc/nova_market'} == found
    assert 'user and group ``nova-market``' in PAGE


def test_the_table_of_files_is_that_of_the_wheel() -> None:
    """Each folder of the wheel, and where it is in the tree."""
    data = {
        place: {pattern.rpartition('/')[0] for pattern in patterns.split()}
        for place, patterns in setup_cfg()['options.data_files'].items()
    }
    listed: dict[str, set[str]] = {}
    for inside, tree, _ in rows('What pip installs'):
        place = inside.strip('`')
        folder = place if place in data else place.rpartition('/')[0]
        listed.setdefault(folder, set()).add(tree.strip('`'))
        if folder != place:
            assert list((ROOT / tree.strip('`')).glob(place.rpartition('/')[2])), place
    assert listed == data
