# SPDX-License-Identifier: Apache-2.0
"""O6: what a token may be good for that is sent to another region."""

import pytest

from nova_market.core.tender.region_credential import ROLE, excess

RULE = {'method': 'POST', 'path': '/market/v1/offers', 'service': 'market'}


def test_one_call_and_nothing_else():
    """Wherever the API is mounted; the same rule twice is no more."""
    assert excess([ROLE], [RULE]) == excess([ROLE], [{**RULE, 'path': '/v1/offers'}, RULE]) == ''


@pytest.mark.parametrize(
    ('roles', 'rules', 'why'),
    [
        ([ROLE, 'service'], [RULE], 'the role service'),
        ([ROLE, 'admin'], [RULE], 'the role admin'),
        (['service'], [RULE], 'the role service'),
        ([], [RULE], 'lacks the role market_region'),
        ([ROLE], None, 'no access rules'),
        ([ROLE], [], 'no access rules'),
        ([ROLE], [{**RULE, 'method': 'GET'}], 'GET /market/v1/offers of market'),
        ([ROLE], [{**RULE, 'service': 'compute'}], 'of compute'),
        ([ROLE], [{**RULE, 'path': '/v1/transfers'}], '/v1/transfers'),
        ([ROLE], [{**RULE, 'path': '/**'}], '/**'),
        ([ROLE], [{**RULE, 'path': '/v1/{what}/v1/offers'}], '{what}'),
        ([ROLE], [RULE, {**RULE, 'path': '/v1/bags'}], '/v1/bags'),
        ([ROLE], [{}], 'None'),
    ],
)
def test_what_can_do_more_is_refused(roles, rules, why):
    """With what it is."""
    assert why in excess(roles, rules)
