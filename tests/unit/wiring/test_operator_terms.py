# SPDX-License-Identifier: Apache-2.0
"""What the operator sets for Nova's scheduler: shares of projects, watts of hosts."""

import pytest
from oslo_config import cfg

from nova_market.conf.opts import register_opts
from nova_market.errors import ConfigurationError
from nova_market.wiring.engine import operator_terms


def terms(shares, watts=('*:160:120',)):
    conf = cfg.ConfigOpts()
    register_opts(conf)
    conf([], project='nova_market', default_config_files=[])
    conf.set_override('project_shares', shares, group='market')
    conf.set_override('host_watts', list(watts), group='leases')
    return operator_terms(conf)


def test_shares_and_watts_are_those_of_the_options():
    """The first pattern that matches a host counts."""
    found = terms(['red:0.25', 'blue:0'], ['rack1-*:100:50', '*:10:20'])
    assert found.shares == {'red': 0.25, 'blue': 0.0}
    idle, more = found.watts(['rack1-1', 'x'])
    assert (idle.tolist(), more.tolist()) == ([100.0, 10.0], [50.0, 20.0])


@pytest.mark.parametrize(
    'wrong', [['red'], ['red:x'], ['red:1.5'], ['red:nan'], [':0.5'], ['red:0.1', 'red:0.2']]
)
def test_what_is_no_share_is_refused(wrong):
    """The error has the option, the value and its form."""
    with pytest.raises(ConfigurationError, match=r'\[market\]project_shares: .* PROJECT_ID:SHARE'):
        terms(wrong)
