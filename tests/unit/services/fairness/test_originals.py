# SPDX-License-Identifier: Apache-2.0
"""Originals survive the service and die with the guest or the boot."""

import json

import pytest

from nova_market.adapters.state_file import JsonFile
from nova_market.services.fairness.originals import OriginalValues

D1, E1 = ('d1', 1), ('e1', 4)


def stored(path, boot='b1'):
    return OriginalValues(JsonFile(str(path)), boot)


def test_entries_are_on_disk_at_once(tmp_path):
    path = tmp_path / 'originals.json'
    stored(path).remember({D1: {'cpu': 1024}, E1: {'cpu': 2048, 'disk': 100}})
    assert stored(path).entries == {D1: {'cpu': 1024}, E1: {'cpu': 2048, 'disk': 100}}


def test_first_value_stays(tmp_path):
    """What was there first is the original, not what we wrote since."""
    path = tmp_path / 'originals.json'
    first = stored(path)
    first.remember({D1: {'cpu': 1024}})
    first.remember({D1: {'cpu': 77, 'disk': 100}})
    assert stored(path).entries == {D1: {'cpu': 1024, 'disk': 100}}


def test_unchanged_is_not_written_again(tmp_path):
    path = tmp_path / 'originals.json'
    kept = stored(path)
    kept.remember({D1: {'cpu': 1024}})
    before = path.stat().st_mtime_ns, path.stat().st_ino
    kept.remember({D1: {'cpu': 1024}})
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before


def test_other_boot_is_void(tmp_path):
    """After a reboot of the host domain ids start again and the kernel's values are fresh."""
    path = tmp_path / 'originals.json'
    stored(path).remember({D1: {'cpu': 1024}})
    assert stored(path, boot='b2').entries == {}


def test_gone_guests_are_dropped_with_the_next_change(tmp_path):
    path = tmp_path / 'originals.json'
    kept = stored(path)
    kept.remember({D1: {'cpu': 1024}, E1: {'cpu': 1024}})
    kept.keep_only({E1})
    kept.remember({E1: {'disk': 100}})
    assert set(stored(path).entries) == {E1}


def test_damaged_file_is_ignored_and_logged(tmp_path, caplog):
    path = tmp_path / 'originals.json'
    for text in ('{', '[]', json.dumps({'format': 1, 'boot': 'b1', 'guests': [{'id': 'x'}]})):
        path.write_text(text)
        assert stored(path).entries == {}
    assert 'ignored' in caplog.text


def test_save_is_whole_or_not_at_all(tmp_path):
    """A crash while writing leaves the old document and no litter."""
    path = tmp_path / 'originals.json'
    kept = stored(path)
    kept.remember({D1: {'cpu': 1024}})
    with pytest.raises(TypeError):
        JsonFile(str(path)).save({'bad': object()})
    assert stored(path).entries == {D1: {'cpu': 1024}}
    assert [p.name for p in tmp_path.iterdir()] == ['originals.json']
