# SPDX-License-Identifier: Apache-2.0
"""Bids of servers."""

from nova_market.api.policies.role import MEMBER, SERVICE_OR_ADMIN, SERVICE_OR_READER, documented

ONE = '/v1/bids/{server_id}'
RULES = (
    documented('bids:list', SERVICE_OR_READER, "Bids of a project's servers.", ('GET', '/v1/bids')),
    documented('bids:list_all', SERVICE_OR_ADMIN, 'Those of all projects.', ('GET', '/v1/bids')),
    documented('bids:show', SERVICE_OR_READER, 'The bid of one server.', ('GET', ONE)),
    documented('bids:set', MEMBER, "Set a server's bid.", ('PUT', ONE)),
    documented('bids:delete', MEMBER, 'Fall back to the default bid.', ('DELETE', ONE)),
)
