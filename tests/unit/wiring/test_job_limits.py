# SPDX-License-Identifier: Apache-2.0
"""The operator's limits of group [jobs], as the API and the service of jobs take them."""

import logging

import pytest
from oslo_config import cfg

from nova_market.conf import opts
from nova_market.core.job.operator_limits import JobLimits
from nova_market.wiring import api, jobs
from nova_market.wiring.offer_settings import offer_settings

GIVEN = {'max_short_below': 60, 'max_notice': 61, 'max_least_run_time': 62, 'max_retries': 3}


def settings_of(**given):
    """Of the API, of its offers and of the service."""
    conf = cfg.ConfigOpts()
    opts.register_opts(conf)
    conf([], project='nova_market', default_config_files=[])
    for name, value in {'worker_url': 'http://10.0.0.1/market', **given}.items():
        conf.set_override(name, value, group='jobs')
    return api.settings(conf), offer_settings(conf), jobs.load_settings(conf)


@pytest.mark.parametrize('given', [{}, GIVEN])
def test_all_have_the_same_limits(given):
    """Those that are set, or the defaults."""
    of_api, of_offers, of_service = settings_of(**given)
    assert of_api.job_limits == of_offers.limits == of_service.limits == JobLimits(**given)


def test_a_queue_may_have_the_policies_that_the_operator_allows():
    """By default all but the one in which owners state what nobody pays."""
    of_api, _, of_service = settings_of()
    assert set(of_api.job_policies) == set(of_service.policies)
    assert 'value' not in of_api.job_policies and {'flexible', 'tender'} <= set(of_api.job_policies)
    of_api, _, of_service = settings_of(policies=['value'])
    assert list(of_api.job_policies) == list(of_service.policies) == ['value']


def test_a_policy_that_is_allowed_and_not_installed_is_named(caplog):
    """Each time that settings are read; the others serve."""
    with caplog.at_level(logging.WARNING):
        of_api, _, _ = settings_of(policies=['easy', 'astrology'])
    assert list(of_api.job_policies) == ['easy']
    assert '[jobs]policies has astrology, which is not installed: there is' in caplog.messages[0]
