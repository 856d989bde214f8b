# SPDX-License-Identifier: Apache-2.0
"""What requests cost, for rule Q1 of doc/source/specs/market.rst.

A unit is a short read, which takes a process 1 to 2 ms. A new route is named here: without that it costs
what the dearest ones do.
"""

from collections.abc import Callable, Mapping
from typing import Any

from nova_market.core.job.request import indices

READ, PAGE, CHANGE, WORK = 1, 4, 5, 20
"""One thing; a list, or what is computed of a span of time; a commit; sums of all postings of a span of time,
or a search for room in all the cloud."""

BODY = 8192
"""Bytes of a body that cost one more."""

ELEMENTS = 10
"""Jobs, tasks and nodes that cost one more."""

NAMES: Mapping[int, str] = {
    READ: """
        version_index version_show version_description
        price_show economy_show economy_power account_show budget_show bid_show app_show queue_show job_show
        job_output offer_show bag_show lease_show notice_show plan_show history_heaviness scheduler_show
        app_report_create worker_next_job worker_heartbeat worker_result
    """,
    PAGE: """
        price_history price_quote economy_history economy_power_history
        account_index account_statement budget_index bid_index app_index app_events queue_index
        queue_stats job_index job_events offer_index bag_index bag_tasks bag_events lease_index lease_events
        notice_index history_index history_show history_allocations history_allocations_of_server
        history_hosts plan_index limit_show set_aside_index suggestion_show app_validate
    """,
    CHANGE: """
        account_update transfer_grant transfer_revoke transfer_create
        budget_create budget_update budget_delete
        bid_update bid_delete app_create app_update app_delete app_suspend app_resume
        queue_create queue_update queue_delete queue_accept queue_reject
        job_create job_delete job_requeue offer_release bag_create bag_update bag_delete bag_add
        lease_update lease_delete lease_give blazar_check_create blazar_commit_create blazar_check_update
        blazar_commit_update blazar_on_end notice_update notice_delete notice_confirm plan_approve plan_reject
    """,
    WORK: 'account_sums offer_create offer_accept offer_hold lease_create lease_calendar lease_replan',
}
COSTS: Mapping[str, int] = {name: cost for cost, text in NAMES.items() for name in text.split()}
"""By name of a route."""


def cost_of(route: str) -> int:
    """Of a request without a body."""
    return COSTS.get(route, WORK)


def cost_of_bytes(length: int) -> int:
    """Of its body, before it is read."""
    return length // BODY


def cost_of_elements(route: str, body: Any) -> int:
    """Of what a body asks for, when it is known to have the right form."""
    count = COUNTED.get(route)
    return 0 if count is None else count(body) // ELEMENTS


def _jobs(body: Any) -> int:
    return sum(len(indices(entry)) for entry in body['jobs'])


def _tasks(body: Any) -> int:
    return len(body.get('tasks', ()))


def _nodes(body: Any) -> int:
    return len(body['hosts']) if 'hosts' in body else int(body.get('nodes', 1))


def _offered(body: Any) -> int:
    nodes = _nodes(body['lease']) if 'lease' in body else 0
    return nodes + int(body.get('server', {}).get('count', 1))


COUNTED: Mapping[str, Callable[[Any], int]] = {
    'job_create': _jobs,
    'bag_create': _tasks,
    'bag_add': _tasks,
    'lease_create': _nodes,
    'offer_create': _offered,
}
