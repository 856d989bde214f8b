# SPDX-License-Identifier: Apache-2.0
"""From an HTTP request to a handler and back: version, token, schemas, policy, errors."""

import itertools
import json
import logging
import math
from collections.abc import Callable, Mapping
from typing import Any

from flask import Request, Response
from oslo_context.context import RequestContext
from oslo_policy import policy
from webob.exc import HTTPRequestEntityTooLarge
from werkzeug.exceptions import ClientDisconnected

from nova_market.api import contract as contracts
from nova_market.api import errors, microversion
from nova_market.api.call import Answer, Call
from nova_market.api.contract import contract_of
from nova_market.api.documents import Documents
from nova_market.api.openapi import description
from nova_market.api.refusal_count import RefusalCount
from nova_market.api.request_limits import Charge, RequestLimits
from nova_market.api.routes import PATH_VALUES, Route
from nova_market.api.stores import ApiStores, Settings
from nova_market.core.text import one_line
from nova_market.errors import BadDocument, BadRow, NovaMarketError

LOG = logging.getLogger(__name__)

REQUEST_ID = 'openstack.request_id'
LONGEST_BODY = 114_688
"""[oslo_middleware]max_request_body_size by default: what a body of unknown length is taken to have."""

JSON, PLAIN = 'application/json', 'text/plain'
CHECKED_LINES = 5
CHECKED_EVERY = 10
"""Responses of a route; the first one is checked. To check each one takes a tenth of a short request."""

PATH_CHECKS = {name: contracts.path_check(schema) for name, schema in PATH_VALUES.items()}


class Dispatcher:
    """Serves every route. For many threads."""

    def __init__(self, stores: ApiStores, settings: Settings, enforcer: policy.Enforcer) -> None:
        self._stores = stores
        self._settings = settings
        self._enforcer = enforcer
        self._documents = Documents(stores.history)
        self._refusals = RefusalCount(stores.refusals, stores.wall)
        self._limits = RequestLimits(settings.rates, self._refusals, stores.wall)

    def view(self, route: Route) -> Callable[[Request, Mapping[str, str]], Response]:
        """What Flask calls for a route."""
        served = itertools.count()

        def serve(request: Request, path: Mapping[str, str]) -> Response:
            charge = self._limits.request(route.name)
            try:
                version = microversion.requested(request.headers.get(microversion.HEADER))
                if version < route.since:
                    raise errors.too_old(request.path, route.since)
                call = self._call(route, request, path, version, charge)
                charge.before_handler(call, _length(request))
                answer = route.handler(call)
                if not isinstance(answer, Answer):
                    answer = Answer(body=answer)
                if not (route.public or call.authorized):
                    raise AssertionError(f'{route.name} asked no policy')
                self._check(route, answer, next(served))
                found = _response(answer, _plain(request, contract_of(route.handler)))
            except Exception as error:
                found = refusal(error, request)
            charge.settle()
            if found.status_code < 500:
                # where the database is away the thread has waited for it once
                self._refusals.write_when_due()
            return found

        return serve

    def _call(
        self,
        route: Route,
        request: Request,
        path: Mapping[str, str],
        version: microversion.Version,
        charge: Charge,
    ) -> Call:
        contract = contract_of(route.handler)
        context = None if route.public else _caller(request)
        charge.before_body(context, _length(request))
        for name, text in path.items():
            if not PATH_CHECKS[name](text) or not contracts.in_path(contract, name, text):
                raise errors.not_found(name.removesuffix('_id').replace('period', 'round'), text)
        header = next(iter(contract.headers), '')
        return Call(
            context=context,
            enforcer=self._enforcer,
            stores=self._stores,
            settings=self._settings,
            documents=self._documents,
            description=description,
            version=version,
            root=request.root_url.rstrip('/'),
            route=request.path,
            path=path,
            query=contracts.checked_query(contract, request.args.to_dict(flat=False)),
            body=contracts.checked_body(
                contract, _text(request, contract), _plain(request, contract)
            ),
            key=contracts.checked_header(contract, header, request.headers.get(header))
            if header
            else None,
        )

    def _check(self, route: Route, answer: Answer, turn: int) -> None:
        """A response against its schema. turn: how many of the route were served before."""
        how = self._settings.response_validation
        if how == 'ignore' or (how == 'warn' and turn % CHECKED_EVERY):
            return
        body = answer.body if how == 'error' else shortened(answer.body)
        try:
            contracts.check_response(contract_of(route.handler), answer.status, body)
        except BadDocument as error:
            if how == 'error':
                raise AssertionError(f'response of {route.name}: {error}') from None
            LOG.warning('response of %s breaks its schema: %s', route.name, error)


def _response(answer: Answer, plain: contracts.PlainForm | None) -> Response:
    if plain is not None:
        return Response(plain.write(answer.body), status=answer.status, content_type=PLAIN)
    return _encoded(answer.body, answer.status)


def shortened(body: Any) -> Any:
    """A page with its first lines only: to check each of a thousand would cost more than to read them."""
    if not isinstance(body, Mapping):
        return body
    return {k: v[:CHECKED_LINES] if isinstance(v, list) else v for k, v in body.items()}


def refusal(error: Exception, request: Request) -> Response:
    """An error as a response; what is not the caller's fault goes to the log."""
    found = errors.translated(error)
    if found.status >= 500 and not isinstance(error, BadRow):  # which was logged once
        LOG.error(
            '%s %s: %s', request.method, one_line(request.path), error,
            exc_info=None if isinstance(error, NovaMarketError) else error,
        )  # fmt: skip
    else:
        line = f'{request.method} {request.path}: {found.status} {found.detail}'
        LOG.debug('%s', one_line(line))
    answer = _encoded(errors.body(found, request.environ.get(REQUEST_ID, '')), found.status)
    if 'retry_after' in found.more:
        answer.headers['Retry-After'] = str(found.more['retry_after'])
    return answer


def _caller(request: Request) -> RequestContext:
    # a service token that is not valid would switch the access rules of the other one off
    service = request.environ.get('HTTP_X_SERVICE_IDENTITY_STATUS', 'Confirmed')
    if {request.environ.get('HTTP_X_IDENTITY_STATUS'), service} != {'Confirmed'}:
        raise errors.ApiError(
            401, 'market.token.missing', 'give a valid token of Keystone in X-Auth-Token'
        )
    # beside a service token, whosever it is, the middleware does not look at access rules
    known = request.environ.get('keystone.token_auth')
    rules = known.user.application_credential_access_rules if known else None
    if rules is not None and request.environ.get('HTTP_X_SERVICE_TOKEN'):
        raise errors.ApiError(
            401, 'market.token.restricted',
            'the token has access rules, which do not count beside X-Service-Token: leave that header out',
        )  # fmt: skip
    return RequestContext.from_environ(request.environ)


def _length(request: Request) -> int:
    """Bytes of the body; the largest that is taken where they are not known before."""
    if request.content_length is None and 'Transfer-Encoding' in request.headers:
        return LONGEST_BODY
    return request.content_length or 0


def _text(request: Request, contract: contracts.Contract) -> bytes:
    if contract.body is None:
        return b''
    if request.mimetype not in {JSON, ''} and _plain(request, contract) is None:
        raise errors.ApiError(
            415, 'market.request.media_type', f'{request.mimetype:.80}: send {JSON}'
        )
    try:
        return request.get_data(cache=False)
    except HTTPRequestEntityTooLarge as error:
        raise errors.ApiError(413, 'market.request.too_large', str(error)) from None
    except (ClientDisconnected, OSError):
        raise errors.ApiError(
            400, 'market.request.malformed', 'the body ends before its length: send it again'
        ) from None


def _plain(request: Request, contract: contracts.Contract) -> contracts.PlainForm | None:
    """The form of a request that is text, where its handler has one."""
    return contract.plain if request.mimetype == PLAIN else None


def _encoded(body: object, status: int) -> Response:
    if status == 204:
        return Response(status=status)
    try:
        text = json.dumps(body, allow_nan=False, separators=(',', ':'))
    except ValueError:
        text = json.dumps(_finite(body), allow_nan=False, separators=(',', ':'))
    return Response(text, status=status, content_type=JSON)


def _finite(value: Any) -> Any:
    """JSON has no NaN: null stands for it."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return value
