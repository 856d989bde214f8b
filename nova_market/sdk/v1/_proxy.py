# SPDX-License-Identifier: Apache-2.0
"""`conn.market`: the market API, version 1, as methods.

Implements the client's side of doc/source/admin/market-api.rst. Units: amounts in whole micro-credits.
Lists follow the service's pages; `max_items` ends them early.
"""

import uuid
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any, ClassVar

from openstack import exceptions

from nova_market.sdk.v1.account import Account, Budget, Movement, Posting, StatementSum
from nova_market.sdk.v1.app import App, AppEvent
from nova_market.sdk.v1.bag_proxy import BagProxy
from nova_market.sdk.v1.bid import Bid, BidSuggestion
from nova_market.sdk.v1.cloud_state import Heaviness, Host
from nova_market.sdk.v1.economy import (
    Economy,
    PastEconomy,
    PastPurchasingPower,
    PurchasingPower,
)
from nova_market.sdk.v1.job_proxy import JobProxy
from nova_market.sdk.v1.lease_proxy import LeaseProxy
from nova_market.sdk.v1.microversion import (
    CHECKED_APPS,
    ECONOMY,
    LEASE_OFFERS,
    PARTIAL_BIDS,
    QUOTED_PRICES,
)
from nova_market.sdk.v1.notice_proxy import NoticeProxy
from nova_market.sdk.v1.offer import Offer
from nova_market.sdk.v1.plan import Plan
from nova_market.sdk.v1.price import PastPrice, Price, Quote
from nova_market.sdk.v1.round import Allocation, Round, ServerAllocation
from nova_market.sdk.v1.set_aside import SetAside


class Proxy(BagProxy, JobProxy, LeaseProxy, NoticeProxy):
    """Prices, accounts, bids, rounds and plans of a cloud's market."""

    api_version: ClassVar[Any] = '1'

    def prices(self, **query: Any) -> Iterator[Price]:
        """The price of each resource now; `resource` for one of them."""
        return self._pages(Price, **query)

    def price_history(self, **query: Any) -> Iterator[PastPrice]:
        """Prices of past periods, newest first; `resource`, `since` and `until` choose."""
        return self._pages(PastPrice, **query)

    def period_length(self) -> float | None:
        """Seconds of a period, by the newest prices; None: there are none yet."""
        return next((one.period_length for one in self.prices()), None)

    def quote(self, **query: Any) -> Quote:
        """What `count` servers of `flavor` (or of `cpu`, `memory_mib`) would cost in `periods` periods,
        by the prices from `since` to `until`."""
        params = {name: value for name, value in query.items() if value is not None}
        microversion = self._newest(QUOTED_PRICES)
        return self._read(
            Quote, self.get('/prices/quote', params=params, microversion=microversion)
        )

    def economy(self, **query: Any) -> Economy:
        """Where the credits are, the price index, and the velocity from `since` to `until`."""
        params = {name: value for name, value in query.items() if value is not None}
        answer = self.get('/economy', params=params, microversion=ECONOMY)
        return self._read(Economy, answer)

    def economy_history(self, **query: Any) -> Iterator[PastEconomy]:
        """The economy of past periods, newest first; `since` and `until` choose."""
        return self._pages(PastEconomy, **query)

    def purchasing_power(self, **query: Any) -> Iterator[PurchasingPower]:
        """What one's project can buy, `project_id`, or all with `all_projects`."""
        return self._pages(PurchasingPower, **query)

    def purchasing_power_history(self, **query: Any) -> Iterator[PastPurchasingPower]:
        """The same of past periods, newest first; `since` and `until` choose."""
        return self._pages(PastPurchasingPower, **query)

    def accounts(self, **query: Any) -> Iterator[Account]:
        """Accounts one may see; `project_id` for those of one project."""
        return self._pages(Account, **query)

    def get_account(self, account: str | Account) -> Account:
        """One account."""
        return self._get(Account, account)

    def update_account(self, account: str | Account, **changes: Any) -> Account:
        """Change `name` or, as an administrator, `weight`."""
        return self._update(Account, account, **changes)

    def grant(self, account: str, amount: int, *, key: str | None = None) -> Movement:
        """Issue credits to an account; the same `key` grants once however often it is sent."""
        return self._pay(f'/accounts/{account}/grants', {'amount': amount}, key)

    def revoke(self, account: str, amount: int, *, key: str | None = None) -> Movement:
        """Take credits back from an account, no more than there are."""
        return self._pay(f'/accounts/{account}/revocations', {'amount': amount}, key)

    def transfer(
        self, source: str, target: str, amount: int, *, key: str | None = None
    ) -> Movement:
        """Move credits; the same `key` moves them once however often it is sent."""
        return self._pay('/transfers', {'from': source, 'to': target, 'amount': amount}, key)

    def statement(self, account: str, **query: Any) -> Iterator[Posting]:
        """What was posted to an account, newest first; `since`, `until` and `server_id` choose."""
        return self._pages(Posting, account_id=account, **query)

    def statement_sums(self, account: str, **query: Any) -> Iterator[StatementSum]:
        """Sums of what was posted to an account, and to its budgets when it is a project's.

        `group_by`: server, app (by id) or day (the newest first); `since` (by default yesterday), `until` and
        `server_id` choose.
        """
        return self._pages(StatementSum, account=account, **query)

    def budgets(self, **query: Any) -> Iterator[Budget]:
        """Budgets one may see."""
        return self._pages(Budget, **query)

    def get_budget(self, budget: str | Budget) -> Budget:
        """One budget."""
        return self._get(Budget, budget)

    def create_budget(self, **attributes: Any) -> Budget:
        """Open a budget: `name`, and `renew_amount`, `renew_every` to fill it up by itself."""
        return self._create(Budget, **attributes)

    def update_budget(self, budget: str | Budget, **changes: Any) -> Budget:
        """Change its name or its renewal."""
        return self._update(Budget, budget, **changes)

    def delete_budget(self, budget: str | Budget, *, ignore_missing: bool = True) -> None:
        """Close a budget that has nothing in it."""
        self._delete(Budget, budget, ignore_missing=ignore_missing)

    def set_aside(self, **query: Any) -> Iterator[SetAside]:
        """What services cannot handle now; `service` for those of one service."""
        return self._pages(SetAside, **query)

    def bids(self, **query: Any) -> Iterator[Bid]:
        """Bids one may see."""
        return self._pages(Bid, **query)

    def get_bid(self, server_id: str) -> Bid:
        """What is bid for a server: set, and in force."""
        return self._get(Bid, server_id)

    def set_bid(self, server_id: str, **bid: Any) -> Bid:
        """Replace a server's bid; with `generation` only if it is still the one that was read.

        `cpu`, `memory`: None or left out: the server's default counts for this resource.
        """
        answer = self.put(f'/bids/{server_id}', json=bid, microversion=self._newest(PARTIAL_BIDS))
        return self._read(Bid, answer)

    def suggest_bid(self, **query: Any) -> BidSuggestion:
        """What to bid for `cpu` cores and `memory_mib`, or for a `share` of the cloud, 0 to 1.

        `server_id`: for this server, whose present part is not counted as others'; alone: for all it can use.
        """
        params = {name: value for name, value in query.items() if value is not None}
        answer = self.get('/bids/suggestion', params=params, microversion=PARTIAL_BIDS)
        return self._read(BidSuggestion, answer)

    def delete_bid(self, server_id: str, *, ignore_missing: bool = True) -> None:
        """Withdraw a bid: the server's defaults count again."""
        self._delete(Bid, server_id, ignore_missing=ignore_missing)

    def rounds(self, **query: Any) -> Iterator[Round]:
        """Rounds without their explanations, newest first."""
        return self._pages(Round, **query)

    def get_round(self, period: int | str, **query: Any) -> Round:
        """One round; of its explanation the `limit` lines after server `marker`."""
        microversion = Round._get_microversion(self)
        answer = self.get(f'/rounds/{period}', params=query, microversion=microversion)
        return self._read(Round, answer)

    def allocations(self, period: int | str, **query: Any) -> Iterator[Allocation]:
        """What servers got in one round."""
        return self._pages(Allocation, round_period=str(period), **query)

    def server_allocations(self, server_id: str, **query: Any) -> Iterator[ServerAllocation]:
        """What one server got, newest first."""
        return self._pages(ServerAllocation, owner_id=server_id, **query)

    def plans(self, **query: Any) -> Iterator[Plan]:
        """Migration plans without their moves, newest first; `state` chooses."""
        return self._pages(Plan, **query)

    def get_plan(self, plan: str | Plan) -> Plan:
        """One plan with its moves."""
        return self._get(Plan, plan)

    def approve_plan(self, plan_id: str) -> Plan:
        """Let the engine carry out a proposed plan."""
        return self._read(Plan, self.post(f'/plans/{plan_id}/approve'))

    def reject_plan(self, plan_id: str) -> Plan:
        """Refuse a proposed plan."""
        return self._read(Plan, self.post(f'/plans/{plan_id}/reject'))

    def heaviness(self, **query: Any) -> Iterator[Heaviness]:
        """How heavy projects are: one's own, `project_id`, or all with `all_projects`."""
        return self._pages(Heaviness, **query)

    def hosts(self, **query: Any) -> Iterator[Host]:
        """Hosts and what they have to give."""
        return self._pages(Host, **query)

    def apps(self, **query: Any) -> Iterator[App]:
        """Applications, without servers and statistics."""
        return self._pages(App, **query)

    def get_app(self, app: str | App) -> App:
        """One application with its servers and the numbers of the last decision."""
        return self._get(App, app)

    def create_app(self, **template: Any) -> App:
        """Begin an application; `credential` of the answer is what its monitors report with."""
        # as it is: a resource would leave out what it does not know, and the service refuses that
        return self._read(
            App, self.post('/apps', json=template, microversion=self._newest(CHECKED_APPS))
        )

    def validate_app(self, **template: Any) -> App:
        """Check a template as `create_app` does, and make nothing; its entries with their defaults."""
        answer = self.post('/apps/validate', json=template, microversion=CHECKED_APPS)
        return self._read(App, answer)

    def update_app(self, app_id: str, **changes: Any) -> App:
        """Change `slo`, `budget` or `parameters`; with `generation` only what was read.

        `new_credential=True` makes one, and ends the one there was.
        """
        answer = self.patch(
            f'/apps/{app_id}', json=changes, microversion=self._newest(CHECKED_APPS)
        )
        return self._read(App, answer)

    def suspend_app(self, app_id: str) -> App:
        """Have its servers suspended until it is resumed."""
        return self._read(
            App, self.post(f'/apps/{app_id}/suspend', microversion=self._newest(CHECKED_APPS))
        )

    def resume_app(self, app_id: str) -> App:
        """Let it run again as its policy sees fit."""
        return self._read(
            App, self.post(f'/apps/{app_id}/resume', microversion=self._newest(CHECKED_APPS))
        )

    def delete_app(self, app: str | App, *, ignore_missing: bool = True) -> None:
        """Have its servers deleted and its budget closed; it is gone a while later."""
        self._delete(App, app, ignore_missing=ignore_missing)

    def app_events(self, app_id: str, **query: Any) -> Iterator[AppEvent]:
        """What was done with an application and why, newest first."""
        return self._pages(AppEvent, app_id=app_id, **query)

    def report_app(self, app_id: str, credential: str, **report: Any) -> None:
        """Report `metric`, `progress` or `queue`, of all of it or of the server `server_id`.

        What hooks did is reported by nova-market-hooks, which acts on the answer.
        """
        answer = self.post(
            f'/apps/{app_id}/reports',
            json=report,
            headers={'X-App-Credential': credential},
            microversion=self._newest(CHECKED_APPS),
        )
        exceptions.raise_from_response(answer)

    def offers(self, **query: Any) -> Iterator[Offer]:
        """Offers one was made, newest first; `queue`, `request_id` and `state` choose."""
        return self._pages(Offer, **query)

    def get_offer(self, offer: str | Offer) -> Offer:
        """One offer."""
        return self._get(Offer, offer)

    def create_offers(self, **request: Any) -> tuple[Sequence[Offer], Sequence[str]]:
        """(offers, the best one first; why there is none, or none of a flavor or region).

        For a job `queue`, `time_limit`; also `flavor` or `resources`, `servers`, `deadline`. For a lease
        `kind='lease'` and `lease`, as create_lease takes it; for servers `kind='server'` and `server` with
        `flavor`, `duration`, `count`. For all `utility`, `weight`.
        """
        answer = self.post('/offers', json=request, microversion=self._newest(LEASE_OFFERS))
        exceptions.raise_from_response(answer)
        body, connection = answer.json(), self._get_connection()
        return [Offer.existing(connection=connection, **one) for one in body['offers']], body['why']

    def in_region(self, region: str | None) -> 'Proxy':
        """The market of another region of the same cloud, at its address in the catalog of Keystone.

        Of a region that the catalog does not have, each request raises EndpointNotFound.
        """
        if not region or region == self.region_name:
            return self
        other = type(self)(
            self.session,
            service_type=self.service_type,
            interface=self.interface,
            region_name=region,
            min_version='1',
            max_version='1.latest',
            default_microversion=self.default_microversion,
        )
        if (connection := self._get_connection()) is not None:
            other._connection = connection
        return other

    def accept_offer(self, offer_id: str, *, key: str | None = None, **job: Any) -> Offer:
        """Submit a job for an offer, `script` at least, or book its lease: see `job_id` and `lease_id`.

        The same `key` accepts once however often it is sent. What cannot be had any more is refused with
        market.offer.gone; the error has `alternatives`.
        """
        answer = self.post(
            f'/offers/{offer_id}/accept',
            json={'job': job} if job else {},
            headers={'Idempotency-Key': key or str(uuid.uuid4())},
            microversion=self._newest(LEASE_OFFERS),
            connect_retries=3,
        )
        exceptions.raise_from_response(answer)
        return Offer.existing(connection=self._get_connection(), **answer.json()['offer'])

    def hold_offer(self, offer_id: str, seconds: float) -> Offer:
        """Keep the room of an offer from others for so long, for a fee."""
        path = f'/offers/{offer_id}/hold'
        answer = self.post(path, json={'seconds': seconds}, microversion=self._newest(LEASE_OFFERS))
        return self._read(Offer, answer)

    def release_offer(self, offer_id: str) -> Offer:
        """Give up an offer that is open or held."""
        answer = self.post(f'/offers/{offer_id}/release', microversion=self._newest(LEASE_OFFERS))
        return self._read(Offer, answer)

    def _pay(self, path: str, body: dict[str, Any], key: str | None) -> Movement:
        response = self.post(path, json=body, headers={'Idempotency-Key': key or str(uuid.uuid4())})
        made = self._read(Movement, response)
        made.repeated = response.status_code == HTTPStatus.OK  # 201: it is new
        return made
