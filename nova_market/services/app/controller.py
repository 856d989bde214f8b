# SPDX-License-Identifier: Apache-2.0
"""The controller: while it leads, one decision on every application in each round, then their servers.

Implements the application controllers of Merkat (INRIA RR-8648), section 2.3.1, all of a cloud in one
service: they are decided together, each with its own policy, budget and trust. Units: seconds, periods.

Any number of controllers may run; those that do not lead do nothing. What fails for one application does not
stop the others. During every outage servers run on with the bids they have. Of a user who may not spend any
more they run on and bid nothing (rule M8 of doc/source/specs/market.rst).
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from nova_market.core.app.controller_state import Pair, state_of
from nova_market.core.app.decision import Decision, decisions
from nova_market.core.app.policies.traits import check_goal, traits_of
from nova_market.core.app.record import (
    ENDED,
    AppEvent,
    AppState,
    DesiredServerState,
    StoredApp,
    StoredSlot,
)
from nova_market.core.app.slots import slots_after, slots_for
from nova_market.core.app.template import AppTemplate, Component, Goal, parsed
from nova_market.core.app.view import MarketNow
from nova_market.core.market.owner_server import OwnerAccess
from nova_market.errors import BadTemplate
from nova_market.outage_log import OutageLog
from nova_market.ports import Clock, Leadership, OwnerCloud
from nova_market.services.app.bid_writer import Bidding
from nova_market.services.app.closing import Closing, pay_back
from nova_market.services.app.inputs import AppStores, Gathering, Known
from nova_market.services.app.server_reconciler import ServerReconciler
from nova_market.services.app.settings import ControllerSettings
from nova_market.services.app.spenders import Spenders
from nova_market.services.failures import AWAY, DATABASE_AWAY, Failures
from nova_market.services.leader_loop import LeaderLoop
from nova_market.services.owner_servers import OwnerServers
from nova_market.services.replaced_trusts import ReplacedTrusts
from nova_market.services.set_aside import SetAsideReport
from nova_market.services.standing import Standings

LOG = logging.getLogger(__name__)

Group = tuple[str, Goal, tuple[tuple[str, float], ...]]
"""Policy, objective, parameters. Of several objectives a policy would see no deadlines and no backlog."""


@dataclass(slots=True)
class Seen:
    """What the last pass found, for metrics."""

    apps: dict[str, int] = field(default_factory=dict)
    servers: dict[str, int] = field(default_factory=dict)
    troubled: int = 0
    period: int = 0
    decided: int = 0
    seconds: float = 0.0


class Controller(LeaderLoop):
    """A turn in each interval: a pass over all applications."""

    away = DATABASE_AWAY
    noun = 'controller'

    def __init__(
        self,
        *,
        stores: AppStores,
        cloud: OwnerCloud,
        standings: Standings,
        leadership: Leadership,
        clock: Clock,
        settings: ControllerSettings,
        aside: SetAsideReport,
        observe: Callable[[Seen], None] = lambda seen: None,
    ) -> None:
        """observe: called after each pass."""
        super().__init__(
            name=settings.name,
            leadership=leadership,
            clock=clock,
            outage=OutageLog(
                LOG,
                lost='applications are not looked after, servers run on',
                back='applications are looked after again',
            ),
            interval=settings.interval,
            pause=settings.interval,
        )
        self._aside, self._boundary = aside, aside.boundary
        self._stores = stores
        self._cloud = cloud
        self._settings = settings
        self._observe = observe
        self._gathering = Gathering(stores, clock, settings)
        self._bidding = Bidding(stores)
        self._acting = ServerReconciler(stores, cloud, clock, settings, self._bidding)
        self._replaced = ReplacedTrusts(
            'app',
            cloud,
            clock,
            known=stores.apps.replaced_trusts,
            ended=stores.apps.trust_ended,
        )
        self._closing = Closing(stores, cloud)
        self._troubles = Failures[StoredApp]('app', self._troubled, self._boundary)
        self._spenders = Spenders(standings, stores.apps, self._troubles, leadership.leading)
        self._most: dict[str, dict[str, Pair]] = {}
        self._unready: dict[str, int] = {}
        self._seen = Seen()

    def turn(self) -> None:
        """One pass: decide if there is a new round, then bring servers, bids and what has ended to it.

        :raises DatabaseUnavailable, SchemaBehind: nothing can be known.
        """
        with self._aside.kept(self._leadership.leading):
            self._pass()

    def _pass(self) -> None:
        began = self._clock.monotonic()
        apps, slots = self._read()
        self._troubles.begin(apps)
        apps = self._troubles.in_turn(apps)
        self._spenders.ask([app for app in apps if not _over(app)])
        market = self._gathering.market()
        decided = 0
        if market is not None:
            decided = self._decide(apps, slots, market)
        if decided:
            apps, slots = self._read()
            apps = self._troubles.in_turn(apps)
        rows = self._act(apps, slots, market.period if market else 0)
        self._note(apps, rows, market, decided)
        self._seen.seconds = self._clock.monotonic() - began
        self._observe(self._seen)

    def _read(self) -> tuple[Sequence[StoredApp], Mapping[str, Sequence[StoredSlot]]]:
        """All applications, by id, with their servers; without those that cannot be read, or not wholly."""
        apps, slots = self._stores.apps.open(), self._stores.slots.all()
        unread = self._boundary.unread('app')
        return [one for one in apps if one.id not in unread], slots

    # decisions

    def _decide(
        self,
        apps: Sequence[StoredApp],
        slots: Mapping[str, Sequence[StoredSlot]],
        market: MarketNow,
    ) -> int:
        due = [
            app
            for app in apps
            if app.period < market.period
            and not _over(app)
            # an application that cannot be decided on is tried once in a round
            and self._unready.get(app.id) != market.period
        ]
        groups: dict[Group, list[StoredApp]] = {}
        for app in due:
            standing = self._spenders.waiting(app)
            if standing is not None:
                put_off = partial(self._spenders.put_off, app, standing.why, market.period)
                self._troubles.surviving(app, 'record', put_off)
                continue
            found = self._ready(app)
            if found is None:
                self._unready[app.id] = market.period
                continue
            key = (found.policy, found.slo.goal, tuple(sorted(found.parameters.items())))
            groups.setdefault(key, []).append(app)
        known = self._gathering.known([app for these in groups.values() for app in these])
        return sum(
            self._decide_group(key, groups[key], slots, market, known) for key in sorted(groups)
        )

    def _ready(self, app: StoredApp) -> AppTemplate | None:
        """Its template, once its flavors and its policy are known."""
        template = self._troubles.surviving(app, 'policy', partial(self._template, app))
        if template is None:
            return None
        known = state_of(app.memory)
        sizes = self._most.setdefault(app.id, {})
        missing = [
            one
            for one in template.components
            if not known.of(one.name).most[0] > 0 and one.name not in sizes
        ]
        if missing:
            ask = partial(self._sized, app, missing, sizes)
            if self._troubles.asking(app, 'flavor', ask) is None:
                return None
        return template

    def _template(self, app: StoredApp) -> AppTemplate:
        template = parsed(app.template)
        state_of(app.memory)
        if template.policy not in self._settings.policies:
            raise BadTemplate(
                f'policy {template.policy!r} is not installed here: give one of '
                f'{", ".join(sorted(self._settings.policies))}'
            )
        try:
            # it was made before the policy declared its goals
            traits = traits_of(self._settings.policies[template.policy])
            check_goal(template.policy, traits, template.slo.goal)
        except BadTemplate as error:
            raise BadTemplate(f'{error}: its servers and bids stay as they are') from None
        return template

    def _sized(
        self, app: StoredApp, missing: Sequence[Component], sizes: dict[str, Pair]
    ) -> Mapping[str, Pair]:
        """With what a server of these components can use."""
        access = OwnerAccess(project_id=app.project_id, trust_id=app.trust_id)
        for one in missing:
            flavor = self._cloud.flavor(access, one.flavor)
            self._troubles.answered()
            if flavor is None:
                raise BadTemplate(f'component {one.name}: there is no flavor {one.flavor!r:.80}')
            sizes[one.name] = (float(flavor.vcpus), float(flavor.memory_mib))
        return sizes

    def _decide_group(
        self,
        key: Group,
        apps: Sequence[StoredApp],
        slots: Mapping[str, Sequence[StoredSlot]],
        market: MarketNow,
        known: Known,
    ) -> int:
        """All of one group together; one by one when that fails: only those at fault are left out."""
        name, _, parameters = key
        policy = partial(self._settings.policies[name], **dict(parameters))

        def made(these: Sequence[StoredApp]) -> list[Decision]:
            views = self._gathering.views(these, slots, self._most, market, known)
            return decisions(views, market, policy, self._settings.rules)

        try:
            found = made(apps)
        except DATABASE_AWAY:
            raise
        except Exception:
            LOG.debug('policy %s: one application at a time', name, exc_info=True)
            found = []
            for app in apps:
                alone = self._troubles.surviving(app, 'decision', partial(made, [app]))
                if alone is None:
                    self._unready[app.id] = market.period
                found += alone or []
        else:
            for app in apps:
                self._boundary.works('app', app.id, 'decision')
        return sum(
            bool(
                self._troubles.surviving(one.view.app, 'record', partial(self._apply, one, market))
            )
            for one in found
        )

    def _apply(self, one: Decision, market: MarketNow) -> bool:
        """Store what was decided: from here on the controller that leads carries it out."""
        view = one.view
        if not self._leadership.leading():
            return False
        changed = {
            'state': one.state,
            'period': market.period,
            'memory': one.carried.document(),
            'figures': one.figures.document(),
        }
        slots, of_servers = slots_after(one, market, self._settings.rules)
        happened = (*one.events, *of_servers)
        self._stores.apps.decide(view.app.id, view.app.state, changed, slots)
        events = [
            AppEvent(
                app_id=view.app.id,
                at=market.now,
                period=market.period,
                action=event.action,
                reason=event.reason,
                numbers=event.numbers,
            )
            for event in happened
        ]
        if events:
            self._stores.events.tell(events)
        for event in happened:
            LOG.log(
                logging.DEBUG if event.action == 'bid' else logging.INFO,
                'app %s: %s: %s', view.app.id, event.action, event.reason,
            )  # fmt: skip
        return True

    # actions

    def _act(
        self, apps: Sequence[StoredApp], slots: Mapping[str, Sequence[StoredSlot]], period: int
    ) -> list[StoredSlot]:
        """Every application's servers, bids and end; the rows of all slots as they are then."""
        listing = OwnerServers(self._cloud, self._troubles.answered)
        rows = [one for app in apps for one in slots.get(app.id, ())]
        self._bidding.read(rows)
        self._replaced.read()
        for app in apps:
            if not self._leadership.leading():
                break  # a pass may take long; the controller that leads now does the rest
            meant = partial(self._meant, app, slots.get(app.id, ()))
            own = self._troubles.surviving(app, 'slots', meant)
            if own is None:
                continue
            standing = self._spenders.waiting(app)
            if standing is None or standing.known:
                # whether the cloud answers or not: nothing is paid for what is to rest or to go
                write = partial(self._bidding.write, app, own, silent=standing is not None)
                self._troubles.surviving(app, 'bids', write)
            if standing is not None:
                continue
            if _over(app):
                self._troubles.surviving(app, 'budget', partial(pay_back, self._stores, app))
            work = partial(self._serve, app, own, listing, period)
            self._troubles.asking(app, 'servers', work)
        self._keep([*(app.id for app in apps), *sorted(self._boundary.unread('app'))])
        if self._troubles.cloud_away:
            self._outage.failed(AWAY)
        else:
            self._outage.works()
        return rows

    def _meant(self, app: StoredApp, slots: Sequence[StoredSlot]) -> Sequence[StoredSlot]:
        """Its rows, with what is meant now: of what is over, nothing is to stay."""
        counts = {one.component: 0 for one in slots} if _over(app) else {}
        leaving = slots_for(app, slots, counts, DesiredServerState.GONE)
        if not leaving:
            return slots
        self._stores.slots.put(leaving)
        return self._stores.slots.slots(app.id)

    def _serve(
        self, app: StoredApp, slots: Sequence[StoredSlot], listing: OwnerServers, period: int
    ) -> bool:
        if slots:
            slots = self._acting.converge(app, slots, listing.servers(app), period)
            self._bidding.write(app, slots)
        if self._replaced.end(app) and _over(app) and not slots:
            self._closing.close(app)
        return True

    def _keep(self, app_ids: Sequence[str]) -> None:
        """Forget what is known of all others: they are gone."""
        self._troubles.keep(app_ids)
        self._acting.keep(app_ids)
        self._most = {one: self._most[one] for one in app_ids if one in self._most}
        self._unready = {one: self._unready[one] for one in app_ids if one in self._unready}

    def _troubled(self, app: StoredApp, trouble: str) -> None:
        event = AppEvent(
            app_id=app.id,
            at=self._clock.wall(),
            period=app.period,
            action='troubled',
            reason=trouble,
        )
        self._stores.events.tell([event])

    def _lead_changed(self) -> None:
        """Whatever is kept of applications is only what saves questions."""
        self._aside.forget()

    def _note(
        self,
        apps: Sequence[StoredApp],
        rows: Sequence[StoredSlot],
        market: MarketNow | None,
        decided: int,
    ) -> None:
        seen = Seen(
            troubled=self._troubles.count,
            period=market.period if market else 0,
            decided=self._seen.decided + decided,
        )
        for app in apps:
            seen.apps[str(app.state)] = seen.apps.get(str(app.state), 0) + 1
        for row in rows:
            seen.servers[str(row.intention)] = seen.servers.get(str(row.intention), 0) + 1
        self._seen = seen


def _over(app: StoredApp) -> bool:
    """Nothing of it is to stay."""
    return app.state in ENDED or app.state is AppState.DELETING
