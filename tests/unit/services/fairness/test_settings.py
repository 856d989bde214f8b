# SPDX-License-Identifier: Apache-2.0
"""Options become settings, or one clear error."""

import pytest
from oslo_config import cfg

from nova_market.conf import opts
from nova_market.core.fairness.heaviness import Asset, Greediness
from nova_market.errors import ConfigurationError
from nova_market.services.fairness.settings import load_settings
from nova_market.wiring.agent import check_options


@pytest.fixture
def conf():
    conf = cfg.ConfigOpts()
    opts.register_opts(conf)
    conf([], default_config_files=[])
    return conf


def test_defaults_are_the_sound_ones(conf):
    settings = load_settings(conf)
    assert type(settings.metric) is Greediness
    assert settings.priority.gain * settings.priority.smoothing <= 0.3
    assert settings.totals_ttl == 30.0


def test_plugins_are_chosen_by_name(conf):
    conf.set_override('metric', 'asset', 'fairness')
    conf.set_override('endowment', 'cloud_running', 'fairness')
    settings = load_settings(conf)
    assert type(settings.metric) is Asset
    assert settings.endowment.__name__ == 'cloud_running'


@pytest.mark.parametrize('option', ['metric', 'endowment'])
def test_unknown_plugin_names_what_there_is(conf, option):
    conf.set_override(option, 'nonesuch', 'fairness')
    with pytest.raises(
        ConfigurationError, match=rf'\[fairness\]{option} = nonesuch.*installed: .*,'
    ):
        load_settings(conf)


def test_no_resources(conf):
    conf.set_override('resources', [], 'fairness')
    with pytest.raises(ConfigurationError, match='resources is empty'):
        load_settings(conf)


@pytest.mark.parametrize(
    ('option', 'value'),
    [
        ('interval', 0),
        ('interval', -5),
        ('smoothing', 0),
        ('gain', -1),
        ('span', 0.5),
        ('resources', ['gpu']),
        ('priority_mode', 'random'),
        ('metrics_port', 70000),
        ('totals_ttl_intervals', 0),
    ],
)
def test_values_out_of_range_are_refused(conf, option, value):
    with pytest.raises(ValueError):
        conf.set_override(option, value, 'fairness')


@pytest.mark.parametrize('value', ['nan', 'inf'])
@pytest.mark.parametrize(('group', 'option'), [('fairness', 'gain'), ('host', 'disk_read_mbps')])
def test_numbers_that_are_none_are_refused(tmp_path, group, option, value):
    """Such a value is above no limit and below none; it would make every weight a non-number."""
    file = tmp_path / 'x.conf'
    file.write_text(f'[{group}]\n{option} = {value}\n')
    conf = cfg.ConfigOpts()
    opts.register_opts(conf)
    conf([], default_config_files=[str(file)])
    with pytest.raises(ConfigurationError, match=rf'\[{group}\]{option}'):
        check_options(conf)


def test_an_empty_fallback_owner_is_refused(conf):
    """Other hosts would drop every report that names it."""
    conf.set_override('fallback_owner', '', 'fairness')
    with pytest.raises(ConfigurationError, match=r'\[fairness\]fallback_owner'):
        check_options(conf)
