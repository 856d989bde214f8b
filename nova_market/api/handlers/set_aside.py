# SPDX-License-Identifier: Apache-2.0
"""What services have set aside because it cannot be handled (rule R3 of passes)."""

from typing import Any

from nova_market.api.call import Call
from nova_market.api.contract import gives, takes_query
from nova_market.api.handlers.columns import columns
from nova_market.api.schemas import set_aside as schemas
from nova_market.api.schemas.shape import ALL_PROJECTS, LIMIT, OF_PROJECT, TEXT, marker
from nova_market.core.set_aside import SetAside
from nova_market.core.timestamp import stamp

PARTS = 4
"""Of a marker: service, kind, stage and id; the last one may have anything in it."""


@takes_query(
    project_id=OF_PROJECT,
    all_projects=ALL_PROJECTS,
    service=schemas.SERVICE,
    limit=LIMIT,
    marker=marker(TEXT),
)
@gives(200, schemas.SET_ASIDE)
def index(call: Call) -> Any:
    """What is set aside now, by service, kind, stage and id; what is nobody's only for administrators."""
    project, service = call.whose('set_aside:list'), call.query.get('service')
    after = tuple(call.query.get('marker', '').split('/', PARTS - 1))
    found = call.stores.set_aside.list(project, service, after, call.limit + 1)
    lines = [{**columns(one), 'since': stamp(one.since)} for one in found]
    return call.page('set_aside', lines, found, _marker)


def _marker(one: SetAside) -> str:
    return '/'.join((one.service, one.kind, one.stage, one.id))
