# SPDX-License-Identifier: Apache-2.0
"""Prices are for everybody with a role: a bid can't be chosen without them."""

from nova_market.api.policies.role import ANYBODY, documented

RULES = (
    documented(
        'prices:show',
        ANYBODY,
        'Prices now and in the past, what a flavor would cost, and what to bid.',
        ('GET', '/v1/prices'),
        ('GET', '/v1/prices/history'),
        ('GET', '/v1/prices/quote'),
        ('GET', '/v1/bids/suggestion'),
    ),
)
