# SPDX-License-Identifier: Apache-2.0
"""Notices by mail and to webhooks (rule N2 of notices)."""

from openstack.resource import Body, QueryParameters

from nova_market.sdk.v1.market_resource import MarketResource
from nova_market.sdk.v1.microversion import STOPPED_NOTICES


class Notice(MarketResource):
    """What a user wants to get of the events of a project. `digest` is in seconds."""

    base_path = '/notices'
    resource_key = 'notice'
    resources_key = 'notices'
    allow_list = True
    _max_microversion = STOPPED_NOTICES
    _query_mapping = QueryParameters('project_id', 'all_projects')

    user_id = Body('user_id', alternate_id=True)
    project_id = Body('project_id')
    events = Body('events', type=list)
    mail = Body('mail')
    confirmed = Body('confirmed', type=bool)
    webhook = Body('webhook')
    secret = Body('secret')
    mine = Body('mine', type=bool)
    all_projects = Body('all_projects', type=bool)
    digest = Body('digest', type=float)
    at_most = Body('at_most', type=int)
    changed_at = Body('changed_at')
    stopped = Body('stopped')
