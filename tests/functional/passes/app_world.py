# SPDX-License-Identifier: Apache-2.0
"""Two applications with a server each, under the controller."""

from nova_market.core.app.record import AppState, HookReport
from nova_market.core.ledger.posting import account
from tests.functional.passes.world import Bad, World
from tests.support.app_bed import Bed, template
from tests.support.poison import NO_JSON, UNKNOWN, Poison

PROJECTS = {'good': 'red', 'bad': 'blue'}


class AppWorld(World):
    """good: of red; bad: of blue."""

    service = 'controller'

    def __init__(self, database):
        super().__init__(database)
        self.bed = Bed(database)
        for name, project in PROJECTS.items():
            self.bed.add(name, template(), project=project)
        self.go()
        for name in PROJECTS:
            (slot,) = self.bed.stores.slots.slots(name)
            self.bed.report(name, server_id=slot.server_id, metric=0.9)
            self.bed.stores.events.report_hooks(
                HookReport(app_id=name, server_id=slot.server_id, at=self.bed.clock.wall())
            )
        self._made = dict(self.bed.cloud.made)
        assert len(self._made) == 2

    def prepare(self, poison):
        if poison.table == 'accounts':
            name = account('budget', 'bad')
            return Bad(name, 'blue', 'id = :id', {'id': name})
        column = 'id' if poison.table == 'apps' else 'app_id'
        name = 'bad'
        if poison.table in ('app_reports', 'app_hooks'):
            (slot,) = self.bed.stores.slots.slots('bad')
            name = f'bad/{slot.server_id}'
        return Bad(name, 'blue', f'{column} = :id', {'id': 'bad'})

    def go(self):
        self.bed.run(3)

    def go_far(self):
        self.bed.run(6)

    def check_others(self, poison):
        self._check('good')
        assert self.bed.cloud.made.keys() == self._made.keys(), 'no server was made or deleted'

    def check_bad(self, poison):
        self._check('bad')
        assert self.bed.cloud.made.keys() == self._made.keys()

    def _check(self, name):
        app = self.bed.app(name)
        newest = self.bed.stores.history.rounds(limit=1)[0].period
        assert app.state is AppState.RUNNING and app.period >= newest - 1, app
        assert self.bed.cores(name) > 0.0


OF_APPS = [
    Poison(table='apps', column='state', value=UNKNOWN, kind='app'),
    Poison(table='apps', column='wish', value=UNKNOWN, kind='app'),
    Poison(table='apps', column='template', value=NO_JSON, kind='app'),
    Poison(table='apps', column='template', value=b'{"components": 7}', kind='app', stage=''),
    Poison(table='apps', column='memory', value=NO_JSON, kind='app'),
    Poison(table='apps', column='memory', value=b'{"components": 7}', kind='app', stage=''),
    Poison(table='app_servers', column='intention', value=UNKNOWN, kind='app'),
    Poison(table='app_servers', column='retry_at', value='soon', kind='app'),
    Poison(table='app_reports', column='metric', value='good', kind='report'),
    Poison(table='app_hooks', column='drain', value='all', kind='hooks'),
    Poison(table='accounts', column='renew_amount', value='much', kind='account'),
]
