# SPDX-License-Identifier: Apache-2.0
"""Whether the users of applications may still spend, asked at the beginning of each pass.

Implements rule M8 of doc/source/specs/market.rst.
"""

from collections.abc import Callable, Sequence
from functools import partial

from nova_market.core.app.record import StoredApp
from nova_market.core.app.statistics import AppStatistics
from nova_market.errors import AccessLost, CloudUnavailable
from nova_market.ports import AppStore
from nova_market.services.failures import Failures
from nova_market.services.standing import Standing, Standings

RULE = 'apps:create'
"""By which its user has made it, and by which it goes on."""

NOT_ASKED = Standing(why='it could not be found out whether its user may spend', known=False)


class Spenders:
    """Remembers the answers of one pass."""

    def __init__(
        self,
        standings: Standings,
        apps: AppStore,
        troubles: Failures[StoredApp],
        leading: Callable[[], bool],
    ) -> None:
        self._standings = standings
        self._apps = apps
        self._troubles = troubles
        self._leading = leading
        self._waiting: dict[str, Standing] = {}

    def ask(self, apps: Sequence[StoredApp]) -> None:
        """Of these applications; all others do not wait, since they end."""
        self._waiting = {}
        for app in apps:
            if self._troubles.surviving(app, 'user', partial(self._ask, app)) is None:
                self._waiting.setdefault(app.id, NOT_ASKED)

    def waiting(self, app: StoredApp) -> Standing | None:
        """Why it waits: its user may not spend, or (known: False) nobody can tell now; None: it does not."""
        return self._waiting.get(app.id)

    def put_off(self, app: StoredApp, why: str, period: int) -> bool:
        """Nothing is decided on it in this round; why: shown in place of a decision's reason."""
        if not self._leading():
            return False
        known = {**AppStatistics(period=period).document(), **app.figures}
        changed = {'period': period, 'figures': {**known, 'period': period, 'reason': why}}
        self._apps.decide(app.id, app.state, changed, [])
        return True

    def _ask(self, app: StoredApp) -> bool:
        standing = self._standings.ask(RULE, app.user_id, app.project_id)
        if not standing.why:
            return True
        self._waiting[app.id] = standing
        raise (AccessLost if standing.known else CloudUnavailable)(standing.why)
