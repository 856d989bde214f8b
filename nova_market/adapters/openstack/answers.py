# SPDX-License-Identifier: Apache-2.0
"""What the services of OpenStack answer: errors as ours, refusals as one line, lists page by page.

The only place that knows the exceptions of keystoneauth and openstacksdk, but for refusals that one call
understands in its own way.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlencode

from keystoneauth1 import exceptions as keystone_errors
from openstack import exceptions as sdk_errors

from nova_market.errors import BadRow, BadTime, CloudAway, CloudRefused, CloudUnavailable
from nova_market.row_boundary import READ, RowBoundary

FAILURES = (keystone_errors.ClientException, sdk_errors.SDKException, OSError)
"""What a request may raise: keystoneauth's errors, openstacksdk's, and those of the socket."""

SENSELESS = (KeyError, TypeError, ValueError, AttributeError, IndexError, BadTime)
"""What reading an answer may raise that has not the form it should have."""

REFUSED = frozenset({400, 403, 404, 409, 413, 429})
"""What a service answers that does not do what it is asked for."""

SILENT = frozenset({502, 503, 504})
"""What proxies answer for a service that does not."""

MAX_PAGES = 1000
MAX_TEXT = 200
"""Characters of a foreign message that are kept."""

IN_ANSWER = f'{READ} in an answer'
"""Stage in which a value is made of an answer; whether that is as any can be is looked at in another one."""

Item = Mapping[str, Any]
Value = TypeVar('Value')


def described(error: Exception) -> str:
    """An error of a library in one line."""
    return f'{type(error).__name__}: {str(error)[:MAX_TEXT]}'


def unavailable(error: Exception) -> CloudUnavailable:
    """Our error for a failed request: CloudAway for silence, else CloudUnavailable for this request."""
    if isinstance(error, keystone_errors.HttpError):
        silent = error.http_status in SILENT
    elif isinstance(error, sdk_errors.HttpException):
        silent = error.status_code in SILENT
    else:
        silent = isinstance(error, (keystone_errors.ConnectionError, OSError))
    return CloudAway(described(error)) if silent else CloudUnavailable(described(error))


@contextmanager
def translated() -> Iterator[None]:
    """Around requests and the reading of their answers; an answer without sense is no answer.

    :raises CloudAway: no answer. :raises CloudUnavailable: an error, or an answer that is not understood.
    """
    try:
        yield
    # first: the error of requests for an answer that is no JSON is an OSError too, but no silence
    except SENSELESS as error:
        raise CloudUnavailable(
            f'an answer is not understood: {type(error).__name__}: {error}'
        ) from error
    except FAILURES as error:
        raise unavailable(error) from None


def sound_items(
    boundary: RowBoundary,
    kind: str,
    answers: Iterable[Item],
    value_of: Callable[[Item], Value],
    name_of: Callable[[Item], str] = lambda one: str(one['id']),
    owner_of: Callable[[Item], str] = lambda one: '',
    *,
    whole: bool = True,
) -> list[Value]:
    """What can be made of these items of a list; one that has no sense is set aside.

    Implements rule R1 of doc/source/specs/passes.rst.
    value_of, name_of, owner_of: may raise what is in SENSELESS
    whole: the list has all there are, and not those alone that have changed

    :raises CloudUnavailable: none of all has any: so it is the answer, and not one of them.
    """
    found, failed = [], []
    for one in answers:
        name, owner = _text_of(name_of, one), _text_of(owner_of, one)
        try:
            found.append(value_of(one))
        except SENSELESS as error:
            failed.append((name, owner, error))
        else:
            boundary.works(kind, name, IN_ANSWER)
    if whole and len(failed) > 1 and not found:
        raise CloudUnavailable(f'no {kind} in an answer is understood') from failed[0][2]
    for name, owner, why in failed:
        said = BadRow(f'an answer is not understood: {type(why).__name__}: {why}')
        boundary.failed(kind, name, IN_ANSWER, said, owner)
    return found


def _text_of(reading: Callable[[Item], str], one: Item) -> str:
    try:
        return reading(one)
    except SENSELESS:
        return ''


def refusal(answer: Any) -> str:
    """The message of a response that is a refusal, without its JSON."""
    try:
        ((_, fault),) = answer.json().items()
        return str(fault['message'])[:300]
    except (ValueError, KeyError, TypeError, AttributeError):
        return f'HTTP {answer.status_code}'


def document(
    answer: Any,
    service: str,
    *,
    missing: bool = True,
    refused: bool = True,
    refusals: Collection[int] = REFUSED,
) -> Any:
    """The document of an answer; None when there is no such thing.

    missing: False: it must be there, so a 404 is a refusal; refused: False: a refusal is None, as what is not
    there; refusals: statuses that are one

    :raises CloudRefused, CloudUnavailable: as ports.OwnerCloud defines.
    """
    if answer.status_code == 404 and missing:
        return None
    if answer.status_code in refusals:
        if not refused:
            return None
        raise CloudRefused(f'{service}: {refusal(answer)}')
    if not 200 <= answer.status_code < 300:
        kind = CloudAway if answer.status_code in SILENT else CloudUnavailable
        raise kind(f'{service} answers {answer.status_code}: {refusal(answer)}')
    with translated():
        return answer.json() if answer.content else {}


def items(
    ask: Callable[[str], Item], path: str, key: str, *, limit: int = 0, by_offset: bool = False
) -> Iterator[Item]:
    """All items of a list that Nova answers in pages, in its order.

    ask: the document at a path
    key: of the list in a page; `<key>_links` is there while another page follows
    limit: items wanted in a page; 0: as many as Nova likes. It never gives more than its own limit.
    by_offset: for lists that have no markers and no links: a page with less than `limit` items is the last

    :raises CloudUnavailable: the pages do not end.
    """
    separator = '&' if '?' in path else '?'
    seen, where = 0, {'limit': limit} if limit else {}
    after: dict[str, str | int] = {}
    for _ in range(MAX_PAGES):
        query = urlencode(where | after)
        page = ask(f'{path}{separator}{query}' if query else path)
        found = page[key]
        yield from found
        seen += len(found)
        if by_offset:
            if len(found) < limit:
                return
            after = {'offset': seen}
            continue
        # Nova does not go on from a server of a cell that does not answer
        known = [one for one in found if one.get('status') != 'UNKNOWN']
        if not page.get(f'{key}_links') or not known:
            return
        before, after = after, {'marker': str(known[-1]['id'])}
        if after == before:
            return
    raise CloudUnavailable(f'{path} has more than {MAX_PAGES} pages')
