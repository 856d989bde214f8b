# SPDX-License-Identifier: Apache-2.0
"""A request that pays in two parts, before its body is read and afterwards: rule Q1 of the market."""

from types import SimpleNamespace

import pytest
from oslo_context.context import RequestContext

from nova_market.api.errors import ApiError
from nova_market.api.refusal_count import RefusalCount
from nova_market.api.request_limits import RequestLimits
from nova_market.api.request_rates import RequestRates
from nova_market.api.token_bucket import Rate

MEMBER = RequestContext(project_id='a', roles=['member'])
SUBMITTED = 13
"""What 80 jobs cost: 5 before they are read, and 8 afterwards."""


def submit(limits):
    """Pay for 80 jobs."""
    charge = limits.request('job_create')
    charge.before_body(MEMBER, 0)
    charge.before_handler(SimpleNamespace(context=MEMBER, body={'jobs': [{'array': 80}]}), 0)


def limits_of(now, burst):
    """One more in each second."""
    rates = RequestRates(requests=Rate(per_second=1.0, burst=burst))
    return RequestLimits(rates, RefusalCount(None, lambda: now[0]), lambda: now[0])


@pytest.mark.parametrize('burst', [6.0, 10.0, SUBMITTED, 20.0])
def test_both_parts_together_cost_a_full_bucket_at_most(burst):
    """Else a request that costs more would be refused for ever."""
    now = [100.0]
    limits = limits_of(now, burst)
    submit(limits)
    now[0] += burst
    submit(limits)


def test_who_is_refused_is_told_when_both_parts_are_served():
    """The first part is paid again when the request is sent again."""
    now = [100.0]
    limits = limits_of(now, 20.0)
    submit(limits)
    with pytest.raises(ApiError, match=f'this request costs {SUBMITTED}: ') as refused:
        submit(limits)
    now[0] += refused.value.more['retry_after']
    submit(limits)
