# SPDX-License-Identifier: Apache-2.0
"""A wrong value in a file of configuration: the option, the value, the file and what is allowed."""

import pytest
from oslo_config import cfg

from nova_market.conf import opts
from nova_market.errors import ConfigurationError
from nova_market.wiring.options import check_values, explained


@pytest.mark.parametrize(
    ('group', 'line', 'problem'),
    [
        ('market', 'period = abc', 'period is abc in {}: give a whole number from 5 to 86400'),
        ('leases', 'max_part = 1.5', 'max_part is 1.5 in {}: give a number from 0 to 1'),
        ('rebalancing', 'mode = always', 'mode is always in {}: give one of off, advise, auto'),
        ('api', 'metrics_enabled = 7', 'metrics_enabled is 7 in {}: give true or false'),
        ('leases', 'max_part = nan', 'max_part is nan in {}: give a number from 0 to 1'),
    ],
)
def test_a_wrong_value_is_shown_with_its_file(written, group, line, problem):
    """In one line, without what Python has to report of it."""
    conf, path = written(f'[{group}]\n{line}\n')
    with pytest.raises(ConfigurationError) as refused:
        check_values(conf, opts.list_opts())
    assert str(refused.value) == f'[{group}]{problem.format(path)}'


def test_every_wrong_value_is_named(written):
    """One look at the file is enough."""
    conf, _ = written('[leases]\nmax_part = 1.5\n[market]\nperiod = 1\n')
    wrong = r'\[leases\]max_part is 1.5 .*; \[market\]period is 1 in'
    with pytest.raises(ConfigurationError, match=wrong):
        check_values(conf, opts.list_opts())


def test_the_value_that_is_in_force_is_shown(written):
    """The last one in a file."""
    conf, _ = written('[leases]\nmax_part = 7\nmax_part = 8\n')
    with pytest.raises(ConfigurationError, match='max_part is 8 in'):
        check_values(conf, opts.list_opts())


def test_a_value_of_the_environment_is_shown_with_its_variable(written, monkeypatch):
    conf, _ = written('')
    monkeypatch.setenv('OS_LEASES__MAX_PART', '9')
    with pytest.raises(
        ConfigurationError, match=r'is 9 in the environment \(OS_LEASES__MAX_PART\)'
    ):
        check_values(conf, opts.list_opts())


def test_a_secret_is_not_shown(written):
    """Not even one that is wrong."""
    hidden = cfg.IntOpt('hidden', secret=True)
    conf, path = written('[market]\nhidden = rosebud\n')
    conf.register_opt(hidden, 'market')
    with pytest.raises(ConfigurationError) as refused:
        check_values(conf, [(cfg.OptGroup('market'), [hidden])])
    assert str(refused.value) == f'[market]hidden in {path}: give a whole number'


def test_an_error_at_first_use_is_explained(written):
    """For programs that look at single options."""
    conf, _ = written('[market]\nperiod = abc\n')
    with pytest.raises(cfg.ConfigFileValueError) as raw:
        _ = conf.market.period
    assert str(explained(conf, raw.value)).startswith('[market]period is abc in')
    other = OSError('another')
    assert explained(conf, other) is other
