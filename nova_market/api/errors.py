# SPDX-License-Identifier: Apache-2.0
"""Errors as clients see them: one table from ours to HTTP status and stable code.

The body has both forms that clients read: `errors` of the API-SIG (keystoneauth) and `message`
(openstacksdk).
"""

from collections.abc import Mapping
from http import HTTPStatus

from nova_market import errors


class ApiError(errors.NovaMarketError):
    """What a request is refused with."""

    def __init__(self, status: int, code: str, detail: str, **more: object) -> None:
        """code: stable, dotted, begins with `market.`; more: further keys of the error object."""
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.more = more


CODES: Mapping[type[errors.NovaMarketError], tuple[int, str]] = {
    errors.BadAmount: (400, 'market.amount.invalid'),
    errors.BadTemplate: (400, 'market.template.invalid'),
    errors.BadJob: (400, 'market.job.invalid'),
    errors.BadQueue: (400, 'market.queue.invalid'),
    errors.BadOffer: (400, 'market.offer.invalid'),
    errors.BadBag: (400, 'market.bag.invalid'),
    errors.BadLease: (400, 'market.lease.invalid'),
    errors.BadNotice: (400, 'market.notice.invalid'),
    errors.BadUsageQuery: (400, 'market.usage.invalid'),
    errors.BadTime: (400, 'market.request.invalid'),
    errors.TrustRefused: (403, 'market.trust.refused'),
    errors.UnknownAccount: (404, 'market.account.not_found'),
    errors.UnknownApp: (404, 'market.app.not_found'),
    errors.BalanceTooLow: (409, 'market.balance.too_low'),
    errors.KeyReused: (409, 'market.key.reused'),
    errors.PeriodPurged: (409, 'market.period.purged'),
    errors.TooManyApps: (409, 'market.app.too_many'),
    errors.TooManyBudgets: (409, 'market.budget.too_many'),
    errors.BudgetNameTaken: (409, 'market.budget.name_taken'),
    errors.AppDeleting: (409, 'market.app.deleting'),
    errors.AppEnded: (409, 'market.app.ended'),
    errors.TooManyQueues: (409, 'market.queue.too_many'),
    errors.QueueNameTaken: (409, 'market.queue.name_taken'),
    errors.SharesExceeded: (409, 'market.queue.shares'),
    errors.QueueNotEmpty: (409, 'market.queue.not_empty'),
    errors.QueueClosed: (409, 'market.queue.closed'),
    errors.QueueDeleting: (409, 'market.queue.deleting'),
    errors.TooManyJobs: (409, 'market.job.too_many'),
    errors.TooManyOffers: (409, 'market.offer.too_many'),
    errors.TooManyBags: (409, 'market.bag.too_many'),
    errors.BagEnded: (409, 'market.bag.ended'),
    errors.OfferEnded: (409, 'market.offer.ended'),
    errors.OfferGone: (409, 'market.offer.gone'),
    errors.TooManyCodes: (409, 'market.notice.too_many_codes'),
    errors.LeasesOff: (403, 'market.lease.off'),
    errors.LeaseLimitReached: (409, 'market.lease.limit'),
    errors.TooManyLeases: (409, 'market.lease.too_many'),
    errors.LeaseRefused: (409, 'market.lease.refused'),
    errors.LeaseOver: (409, 'market.lease.over'),
    errors.AttemptEnded: (409, 'market.job.attempt_ended'),
    errors.UnknownAttempt: (404, 'market.job.attempt_unknown'),
    errors.GenerationChanged: (409, 'market.app.generation'),
    errors.Conflict: (409, 'market.conflict'),
    errors.BadRow: (500, 'market.row.unreadable'),
    errors.DatabaseUnavailable: (503, 'market.database.unavailable'),
    errors.SchemaBehind: (503, 'market.database.behind'),
    errors.CloudUnavailable: (503, 'market.cloud.unavailable'),
}
"""Ours that a client can act on, a subclass before its base; everything else is a 500 without details."""

SERVER_SIDE = {
    'market.row.unreadable': 'what is stored of it cannot be read; the operator has to mend it',
    'market.database.unavailable': 'the database does not answer; try again in a minute',
    'market.database.behind': 'the database is being upgraded; try again later',
    'market.cloud.unavailable': (
        'Nova or Keystone does not answer, or not in time, and this needs it; try again in a minute. '
        "For the operator: the API's log names which, and [openstack]timeout is the time"
    ),
}
"""Shown instead of the error's own text, which may name hosts and accounts of the operator."""


def translated(error: Exception) -> ApiError:
    """An error of ours for the outside."""
    if isinstance(error, ApiError):
        return error
    for kind, (status, code) in CODES.items():
        if isinstance(error, kind):
            return ApiError(status, code, SERVER_SIDE.get(code, str(error)))
    return ApiError(500, 'market.internal', 'an error of the market service; its log says more')


def not_found(what: str, name: object) -> ApiError:
    """404 for what does not exist, and in the same words for what the caller may not see."""
    return ApiError(404, f'market.{what}.not_found', f'there is no {what} {name!s:.80}')


def too_old(path: str, since: object) -> ApiError:
    """404 for a route that the version asked for does not have yet."""
    return ApiError(
        404,
        'market.route.not_found',
        f'{path:.200} is there from version {since} on: send OpenStack-API-Version: market {since}',
    )


def body(error: ApiError, request_id: str) -> dict[str, object]:
    """The document of an error."""
    status = HTTPStatus(error.status)
    return {
        'errors': [
            {
                'status': error.status,
                'title': status.phrase,
                'detail': error.detail,
                'code': error.code,
                'request_id': request_id,
                **error.more,
            }
        ],
        'message': error.detail,
    }
