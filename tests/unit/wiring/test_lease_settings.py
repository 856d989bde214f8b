# SPDX-License-Identifier: Apache-2.0
"""What wiring makes of the options of leases, and how it refuses those that cannot work."""

import logging
from datetime import UTC, datetime

import pytest
from oslo_config import cfg

from nova_market.conf import opts
from nova_market.core.lease.host_view import watts_of
from nova_market.core.lease.limit import LeaseLimits
from nova_market.errors import ConfigurationError
from nova_market.wiring.lease_settings import lease_settings
from nova_market.wiring.leases import check_options


def made(**given):
    conf = cfg.ConfigOpts()
    opts.register_opts(conf)
    conf([], project='nova_market', default_config_files=[])
    for name, value in given.items():
        conf.set_override(name, value, group='leases')
    return lease_settings(conf)


def test_the_defaults_work():
    """The greedy for power, all hosts, nothing to pay."""
    found = made()
    assert found.plugins(0.0)[0::2] == ('greedy_consistent', 'power')
    assert found.hosts == ('*',) and found.prices.core_hour == 0


def test_the_timetable_follows_the_zone_over_a_change_of_the_clock():
    """7 o'clock in Berlin is 6 o'clock UTC on 27 March 2027 and 5 o'clock on the day after."""
    table = ['* 07:00 greedy power', '* 19:00 search earliest_finish']
    found = made(timetable=table, zone='Europe/Berlin')

    def names(*when):
        return found.plugins(datetime(2027, 3, *when, tzinfo=UTC).timestamp())[0]

    assert [names(27, 5, 59), names(27, 6, 0)] == ['search', 'greedy']
    assert [names(28, 4, 59), names(28, 5, 0)] == ['search', 'greedy']


def test_prices_and_watts():
    """Credits become micro-credits; the first pattern that matches counts."""
    found = made(price_core_hour='0.5', host_watts=['rack1-*:100:50', '*:10:20'])
    assert found.prices.core_hour == 500_000
    base, peak = watts_of(['rack1-7', 'other'], found.watts)
    assert base.tolist() == [100, 10] and peak.tolist() == [50, 20]


def test_limits():
    """Hours become seconds, and 0 is no limit."""
    assert made().limits == LeaseLimits()
    found = made(
        max_leases=3, max_core_hours=2.0, max_part=0.5, max_cloud_core_hours=9.0, max_cloud_part=0.7
    ).limits
    assert found == LeaseLimits(
        leases=3, core_seconds=7200.0, part=0.5, cloud_core_seconds=32_400.0, cloud_part=0.7
    )


def test_what_has_no_effect_any_more_is_logged_at_start(tmp_path, caplog):
    """With what there is in its place."""
    path = tmp_path / 'nova_market.conf'
    path.write_text('[leases]\nfull_refund = 3600\n')
    conf = cfg.ConfigOpts()
    opts.register_opts(conf)
    conf(['--config-file', str(path)], project='nova_market')
    with caplog.at_level(logging.WARNING):
        check_options(conf)
    (line,) = caplog.messages
    assert 'full_refund' in line and 'full_refund_within' in line


@pytest.mark.parametrize(
    ('option', 'value'),
    [
        ('price_core_hour', '-1'),
        ('host_watts', ['*:x:1']),
        ('host_watts', [':1:1']),
        ('timetable', []),
        ('timetable', ['* 25:00 greedy power']),
        ('timetable', ['moon 07:00 greedy power']),
        ('timetable', ['* 07:00 oracle power']),
        ('zone', 'Europe/Nowhere'),
    ],
)
def test_what_cannot_work_is_refused_by_its_name(option, value):
    with pytest.raises(ConfigurationError, match=rf'\[leases\]{option}'):
        made(**{option: value})
