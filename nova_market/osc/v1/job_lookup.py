# SPDX-License-Identifier: Apache-2.0
"""Jobs and arrays that a user names by id, by name, or an element of an array as <array>/<index>.

A name stands for the jobs of that name that have not ended; when all of them have, for the newest one. An
array is one of them, whose elements share a name.
"""

from collections.abc import Sequence
from typing import Any

from openstack.exceptions import NotFoundException
from osc_lib import exceptions

from nova_market.osc.v1.lookup import is_uuid
from nova_market.sdk.v1.job import LIVE

JOB_HELP = 'Id or name of a job; <array>/<index> for an element of an array'
JOBS_HELP = f'{JOB_HELP}; id or name of an array for all of its elements'


def job_id_of(conn: Any, text: str) -> str:
    """The id of one job. An id is not looked up."""
    if is_uuid(text):
        return text
    found = jobs_of(conn, text)
    if len(found) > 1:
        raise exceptions.CommandError(
            f'{text} is an array of {len(found)} jobs: give one of them, '
            f'such as {text}/{found[0].array_index}'
        )
    return str(found[0].id)


def after_id_of(conn: Any, text: str) -> str:
    """The id of a job, or of a whole array. An id is not looked up."""
    if is_uuid(text):
        return text
    first = jobs_of(conn, text)[0]
    element = '/' in text or first.array_id is None
    return str(first.id if element else first.array_id)


def jobs_of(conn: Any, text: str) -> Sequence[Any]:
    """A job, or all elements of an array in their order; never nothing.

    :raises CommandError: there is none, or several that a name stands for.
    """
    name, slash, index = text.partition('/')
    found: Sequence[Any] = ()
    # before the slash of a path is nothing, which is no name
    if name:
        found = _with_id(conn, name) if is_uuid(name) else _with_name(conn, name)
    if slash:
        found = [one for one in found if str(one.array_index) == index and one.array_id]
    if not found:
        raise exceptions.CommandError(
            f'there is no job {text}: "openstack market job list --all" shows them'
        )
    return found


def _with_id(conn: Any, text: str) -> Sequence[Any]:
    try:
        return [conn.market.get_job(text)]
    except NotFoundException:
        return _elements(conn, text)


def _with_name(conn: Any, text: str) -> Sequence[Any]:
    found = list(conn.market.jobs(name=text, states=LIVE)) or list(
        conn.market.jobs(name=text, max_items=1)
    )
    # elements of one array count as one
    groups = {one.array_id or one.id: one for one in found}
    if len(groups) > 1:
        ids = ', '.join(list(groups)[:3]) + (', ...' if len(groups) > 3 else '')
        raise exceptions.CommandError(
            f'{len(groups)} jobs or arrays are named {text}: give the id of one: {ids}'
        )
    if found and found[0].array_id:
        return _elements(conn, found[0].array_id)
    return found


def _elements(conn: Any, array_id: str) -> Sequence[Any]:
    return sorted(conn.market.jobs(array_id=array_id), key=lambda one: one.array_index or 0)
