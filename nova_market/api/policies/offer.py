# SPDX-License-Identifier: Apache-2.0
"""Offers: of the project that asked for them."""

from nova_market.api.policies.role import ADMIN, MEMBER, READER, documented
from nova_market.core.tender.region_credential import ROLE as REGION

ALL, ONE = '/v1/offers', '/v1/offers/{offer_id}'
RULES = (
    documented('offers:list', READER, 'Offers that a project was made.', ('GET', ALL)),
    documented('offers:list_all', ADMIN, 'Those of all projects.', ('GET', ALL)),
    documented(
        'offers:create',
        MEMBER,
        'Ask for offers in queues that take jobs of the project.',
        ('POST', ALL),
    ),
    documented(
        'offers:create_for_others',
        f'role:{REGION}',
        'Ask for offers for a user of another project: APIs of other regions do.',
        ('POST', ALL),
    ),
    documented('offers:show', READER, 'An offer.', ('GET', ONE)),
    documented(
        'offers:change',
        MEMBER,
        'Accept, hold or release an offer: accepting submits a job, and both spend credits of the project.',
        ('POST', f'{ONE}/accept'),
        ('POST', f'{ONE}/hold'),
        ('POST', f'{ONE}/release'),
    ),
)
