# SPDX-License-Identifier: Apache-2.0
"""Mail to two users, under the service of notices."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import select

from nova_market.db.notice_tables import notice_outbox
from tests.functional.passes.world import Bad, World
from tests.support.notice_bed import NoticeBed
from tests.support.notice_builders import notice
from tests.support.poison import NO_JSON, UNKNOWN, Poison
from tests.support.servers.notices import HookServer, MailServer, certified

USERS = {'ann': 'red', 'bob': 'blue'}


class NoticeWorld(World):
    """Ann of red gets what she wants; what is Bob's, of blue, goes bad."""

    service = 'notices'

    def __init__(self, database):
        super().__init__(database)
        with ExitStack() as opened:
            path = Path(opened.enter_context(TemporaryDirectory()))
            certificates = certified(path)
            self._mail = MailServer(certificates)
            self._mail.start()
            opened.callback(self._mail.stop)
            self.close = opened.pop_all().close
        self.bed = NoticeBed(database, self._mail, HookServer(certificates), path)
        for user, project in USERS.items():
            self.bed.ask(project_id=project, user_id=user, mail=f'{user}@example.org')

    def prepare(self, poison):
        self.happens('first')
        if poison.table == 'notice_preferences':
            return Bad('blue/bob', 'blue', 'user_id = :user', {'user': 'bob'})
        number = self.database.read(self._number)
        name = 'blue/bob/frobbed' if poison.kind == 'recipient' else str(number)
        return Bad(name, 'blue', 'number = :number', {'number': number})

    def _number(self, connection):
        query = select(notice_outbox.c.number).where(notice_outbox.c.user_id == 'bob')
        return connection.execute(query).scalar_one()

    def happens(self, key):
        """To both of them."""
        made = [
            notice(f'{key}-{user}', user_id=user, project_id=project)
            for user, project in USERS.items()
        ]
        self.bed.happens(*made)

    def go(self):
        self.bed.run(15.0)

    def go_far(self):
        self.happens(f'at-{self.bed.clock.wall():.0f}')
        self.bed.run(300.0, step=30.0)

    def check_others(self, poison):
        assert self._got('ann') == 2
        if poison.table == 'notice_outbox':
            assert self._got('bob') == 1, 'it is one notice that is bad'
        else:
            assert self._got('bob') == 0, 'what he wants is not known'

    def check_bad(self, poison):
        assert self._got('ann') == 3
        # what happened while it was not known that he wants it is not his
        assert self._got('bob') == (3 if poison.table == 'notice_outbox' else 2)

    def _got(self, user):
        return sum(one['to'] == f'{user}@example.org' for one in self._mail.mails)


OF_NOTICES = [
    Poison(table='notice_preferences', column='events', value=NO_JSON, kind='preference'),
    Poison(table='notice_preferences', column='digest', value='daily', kind='preference'),
    Poison(table='notice_preferences', column='at_most', value=-1, kind='preference'),
    Poison(table='notice_outbox', column='state', value=UNKNOWN, kind='notice'),
    Poison(table='notice_outbox', column='payload', value=NO_JSON, kind='notice'),
    Poison(table='notice_outbox', column='tries', value='many', kind='notice'),
    Poison(table='notice_outbox', column='channel', value=UNKNOWN, kind='recipient', once=True),
]
