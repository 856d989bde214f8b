# SPDX-License-Identifier: Apache-2.0
"""Options of group [roles], as services take them."""

import pytest
from oslo_config import cfg

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.conf import opts
from nova_market.errors import ConfigurationError
from nova_market.wiring.standing import standings


def test_an_answer_is_kept_at_least_until_it_is_asked_for_again():
    """Otherwise nobody could tell in between, with a Keystone that answers."""
    conf = cfg.ConfigOpts()
    opts.register_opts(conf)
    conf([], project='nova_market', default_config_files=[])
    conf.set_override('ask_every', 600.0, group='roles')
    for keep, why in (
        (599.0, r'\[roles\]keep = 599 is below ask_every = 600'),
        (600.0, 'auth_type'),
    ):
        conf.set_override('keep', keep, group='roles')
        with pytest.raises(ConfigurationError, match=why):
            standings(conf, 'a service', ManualClock())
