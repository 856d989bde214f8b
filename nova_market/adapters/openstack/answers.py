# SPDX-License-Identifier: Apache-2.0
"""What the services of OpenStack answer: errors as ours, refusals as one line, lists page by page.

The only place that knows the exceptions of keystoneauth and openstacksdk, but for refusals that one call
understands in its own way.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from keystoneauth1 import exceptions as keystone_errors
from openstack import exceptions as sdk_errors

from nova_market.errors import BadTime, CloudAway, CloudUnavailable

FAILURES = (keystone_errors.ClientException, sdk_errors.SDKException, OSError)
"""What a request may raise: keystoneauth's errors, openstacksdk's, and those of the socket."""

SENSELESS = (KeyError, TypeError, ValueError, AttributeError, IndexError, BadTime)
"""What reading an answer may raise that has not the form it should have."""

SILENT = frozenset({502, 503, 504})
"""What proxies answer for a service that does not."""

MAX_PAGES = 1000
MAX_TEXT = 200
"""Characters of a foreign message that are kept."""

Item = Mapping[str, Any]


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


def refusal(answer: Any) -> str:
    """The message of a response that is a refusal, without its JSON."""
    try:
        ((_, fault),) = answer.json().items()
        return str(fault['message'])[:300]
    except (ValueError, KeyError, TypeError, AttributeError):
        return f'HTTP {answer.status_code}'


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
