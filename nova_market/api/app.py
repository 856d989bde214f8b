# SPDX-License-Identifier: Apache-2.0
"""The WSGI application: what stands around the handlers, from the outside to the inside.

/healthcheck, /metrics      by path, without a token of Keystone
HTTPProxyToWSGI             scheme and host as the client sees them, for links; off by default
RequestId                   X-Openstack-Request-Id
CORS                        for dashboards of other origins, off by default
RequestBodySizeLimiter      where the length of the body is not known before
authentication              keystonemiddleware; tests put their own here
Flask                       routes

What is off is not there: each layer of oslo.middleware makes a request and a response of its own.
"""

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any

from flask import Flask, Request, Response, request
from oslo_config import cfg
from oslo_middleware import cors, healthcheck, http_proxy_to_wsgi, request_id, sizelimit
from werkzeug.exceptions import HTTPException
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.routing import Map, Rule

from nova_market.api import microversion, policies
from nova_market.api.dispatch import Dispatcher, refusal
from nova_market.api.errors import ApiError
from nova_market.api.metrics import metrics_application
from nova_market.api.routes import ROUTES, Route
from nova_market.api.stores import ApiStores, Settings
from nova_market.core.service_type import SERVICE_TYPE

Wsgi = Callable[..., Iterable[bytes]]

IN_BRACES = re.compile(r'\{(\w+)\}')
HEADERS = [
    microversion.HEADER, 'X-Auth-Token', 'X-Openstack-Request-Id', 'Idempotency-Key', 'Content-Type',
]  # fmt: skip


def make_application(
    conf: cfg.ConfigOpts,
    stores: ApiStores,
    settings: Settings,
    authenticate: Callable[[Wsgi], Wsgi],
    metrics_token: str | None = None,
) -> Wsgi:
    """The whole service.

    authenticate:  wraps the application and puts user, project and roles of a token into the request
    metrics_token: for /metrics; None: it is not served
    """
    inner = authenticate(make_flask(conf, stores, settings).wsgi_app)
    cors.set_defaults(
        allow_headers=HEADERS,
        expose_headers=HEADERS,
        allow_methods=['GET', 'PUT', 'POST', 'PATCH', 'DELETE'],
    )
    inner = _bounded(inner, conf)
    shared = cors.CORS(inner, conf)
    inner = request_id.RequestId(shared if shared.allowed_origins else inner)
    behind_proxy = http_proxy_to_wsgi.HTTPProxyToWSGI(inner, conf)
    if conf.oslo_middleware.enable_proxy_headers_parsing:
        inner = behind_proxy
    mounted: dict[str, Any] = {'/healthcheck': healthcheck.Healthcheck(None, conf)}
    if metrics_token is not None:
        mounted['/metrics'] = metrics_application(stores, metrics_token, settings.new_weight)
    return DispatcherMiddleware(inner, mounted)


def _bounded(inner: Wsgi, conf: cfg.ConfigOpts) -> Wsgi:
    """The application behind the limiter, with its refusal of a long body in the form of all errors."""
    limiter = sizelimit.RequestBodySizeLimiter(inner, conf)

    def serve(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        most = conf.oslo_middleware.max_request_body_size
        found = Request(environ)
        if found.content_length is None and environ.get('wsgi.input_terminated'):
            return limiter(environ, start_response)  # it ends where the client ends it
        if (found.content_length or 0) > most:
            detail = f'the body has {found.content_length} bytes: give at most {most}'
            error = ApiError(413, 'market.request.too_large', detail)
            return refusal(error, found)(environ, start_response)
        return inner(environ, start_response)

    return serve


def make_flask(conf: cfg.ConfigOpts, stores: ApiStores, settings: Settings) -> Flask:
    """Routes and handlers, without anything around them."""
    app = Flask('nova_market.api', static_folder=None)
    app.url_map = _url_map()
    dispatcher = Dispatcher(stores, settings, policies.make_enforcer(conf))
    app.view_functions = {route.name: _view(dispatcher, route) for route in ROUTES}
    app.register_error_handler(HTTPException, _refused)
    app.after_request(_versioned)
    return app


@functools.cache
def _url_map() -> Map:
    """Of all applications of the process: routes are constant, and to compile them takes 40 ms."""
    rules = [
        Rule(IN_BRACES.sub(r'<\1>', one.path), endpoint=one.name, methods=[one.method])
        for one in ROUTES
    ]
    return Map(rules, strict_slashes=False, redirect_defaults=False)


def _view(dispatcher: Dispatcher, route: Route) -> Callable[..., Response]:
    serve = dispatcher.view(route)

    def view(**path: str) -> Response:
        return serve(request, path)

    return view


def _refused(error: HTTPException) -> Response:
    """What Flask itself refuses: no such path, or not this method."""
    status = error.code or 500
    codes = {404: 'market.route.not_found', 405: 'market.route.method'}
    detail = {
        404: f'there is nothing at {request.path:.200}',
        405: f'{request.method:.20} is not served here',
    }
    answer = refusal(
        ApiError(
            status,
            codes.get(status, 'market.request.malformed'),
            detail.get(status, error.description or error.name),
        ),
        request,
    )
    if getattr(error, 'valid_methods', None):
        answer.headers['Allow'] = ', '.join(sorted(error.valid_methods))  # type: ignore[attr-defined]
    return answer


def _versioned(response: Response) -> Response:
    """The version that answered; the lowest one, when what was asked for is not served."""
    try:
        version = microversion.requested(request.headers.get(microversion.HEADER))
    except ApiError:
        version = microversion.LOWEST
    response.headers[microversion.HEADER] = f'{SERVICE_TYPE} {version}'
    response.vary.add(microversion.HEADER)
    return response
