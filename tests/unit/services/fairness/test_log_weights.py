# SPDX-License-Identifier: Apache-2.0
"""Log-weights on disk: worth nothing after a boot, and never in the way."""

import logging

import pytest

from nova_market.adapters.state_file import JsonFile
from nova_market.services.fairness.log_weights import LogWeights

X = {('g1', 3): 0.25, ('g2', 4): -0.5}


def stored(path, boot='b1'):
    return LogWeights(JsonFile(str(path / 'x.json')), boot)


def test_what_was_saved_is_loaded(tmp_path):
    stored(tmp_path).save(X, 100.0)
    assert stored(tmp_path).load() == (X, 100.0)


def test_another_boot_is_void(tmp_path):
    stored(tmp_path).save(X, 100.0)
    assert stored(tmp_path, 'b2').load() == ({}, 0.0)


@pytest.mark.parametrize(
    'guests', ['7', '[{"id": "g1"}]', '[{"id": "g1", "domain_id": 3, "x": "much"}]']
)
def test_a_damaged_document_is_ignored_and_logged(tmp_path, caplog, guests):
    (tmp_path / 'x.json').write_text(
        f'{{"format": 1, "boot": "b1", "time": 1, "guests": {guests}}}'
    )
    assert stored(tmp_path).load() == ({}, 0.0)
    assert 'log-weights is damaged' in caplog.text


def test_what_is_no_number_is_left_out(tmp_path):
    (tmp_path / 'x.json').write_text(
        '{"format": 1, "boot": "b1", "time": 1, "guests":'
        ' [{"id": "g1", "domain_id": 3, "x": NaN}, {"id": "g2", "domain_id": 4, "x": 1}]}'
    )
    assert stored(tmp_path).load() == ({('g2', 4): 1.0}, 1.0)


def test_a_disk_that_is_full_is_logged_once(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    lost = LogWeights(JsonFile(str(tmp_path / 'not there' / 'x.json')), 'b1')
    for _ in range(3):
        lost.save(X, 100.0)
    assert caplog.text.count('log-weights are not recorded') == 1
