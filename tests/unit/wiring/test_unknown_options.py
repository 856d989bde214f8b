# SPDX-License-Identifier: Apache-2.0
"""Names that no option has, in the files of configuration."""

import logging

import pytest

from nova_market.wiring.unknown_options import log_unknown_options, unknown_options


@pytest.mark.parametrize(
    ('line', 'advice'),
    [
        ('perriod = 20', 'perriod in {} is no option: did you mean period?'),
        ('xyzzy = 20', 'xyzzy in {} is no option: it has no effect; remove it'),
    ],
)
def test_a_wrong_name_is_shown_with_its_file(written, line, advice):
    """And with the option that was probably meant."""
    conf, path = written(f'[market]\n{line}\n')
    assert unknown_options(conf) == (f'[market]{advice.format(path)}',)


@pytest.mark.parametrize(
    'text',
    [
        '[market]\nperiod = 20\n',
        '[openstack]\nauth_type = v3applicationcredential\napplication_credential_id = a\n',
        '[openstack]\nauth_type = password\nuser-name = a\ntenant_name = b\n',
        '[keystone_authtoken]\nnonsense = 1\n[DEFAULT]\nnonsense = 1\n',
        '# perriod = 20\n',
    ],
)
def test_names_of_options_are_not_shown(written, text):
    """Those of plug-ins for authentication, older names, and groups of other libraries."""
    assert unknown_options(written(text)[0]) == ()


def test_options_of_a_plug_in_that_is_not_in_use_are_shown(written):
    """A name of another way to authenticate has no effect."""
    conf, _ = written('[openstack]\nauth_type = password\npasword = x\n')
    assert 'did you mean password?' in unknown_options(conf)[0]


def test_files_of_a_directory_are_looked_at(written, tmp_path):
    """In the order in which oslo.config reads them."""
    (tmp_path / 'more').mkdir()
    (tmp_path / 'more/b.conf').write_text('[leases]\nmax_prt = 1\n')
    conf, path = written('[market]\nperriod = 20\n')
    conf(['--config-file', str(path), '--config-dir', str(tmp_path / 'more')])
    assert ['b.conf' in one for one in unknown_options(conf)] == [False, True]


def test_a_service_logs_each_once(written, caplog):
    """However often the line is there."""
    conf, _ = written('[market]\nperriod = 20\nperriod = 30\n')
    with caplog.at_level(logging.WARNING):
        log_unknown_options(conf)
    assert len(caplog.records) == 1 and 'perriod' in caplog.text
