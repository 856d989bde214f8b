# SPDX-License-Identifier: Apache-2.0
"""Who is there: the projects of the cloud, those who can log in, and one user in each other project.

Ids are made from names, so that they are the same in every playground.
"""

import uuid
from dataclasses import dataclass

_NAMES = uuid.UUID('6f1f7c1e-3c55-4b0e-9d2a-0b7a3f5f2c11')
"""A name space of our own (RFC 9562, section 5.5)."""

DOMAIN = 'default'
IMPLIED = {
    'admin': ('admin', 'manager', 'member', 'reader'),
    'member': ('member', 'reader'),
    'service': ('service',),
}
"""A role, and what Keystone adds to it."""


def id_of(kind: str, name: str) -> str:
    """Of a user, a project, ...: 32 hexadecimal digits, as Keystone's."""
    return uuid.uuid5(_NAMES, f'{kind} {name}').hex


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A user with one role in one project. logs_in: with a password that somebody gets"""

    name: str
    project: str
    role: str = 'member'
    logs_in: bool = False

    @property
    def id(self) -> str:
        return id_of('user', self.name)

    @property
    def project_id(self) -> str:
        return id_of('project', self.project)

    @property
    def roles(self) -> tuple[str, ...]:
        return IMPLIED[self.role]


PROJECTS = (
    'astronomy', 'biology', 'chemistry', 'climate', 'genomics', 'geology', 'linguistics', 'logistics',
    'materials', 'medicine', 'physics', 'web',
)  # fmt: skip
"""Those with servers."""

ALICE = Person(name='alice', project='astronomy', logs_in=True)
BOB = Person(name='bob', project='biology', logs_in=True)
OPERATOR = Person(name='operator', project='operations', role='admin', logs_in=True)
SERVICE = Person(name='market', project='services', role='service')
"""The account of the services; no login is made for it."""

TENANTS = (
    ALICE,
    BOB,
    *(Person(name=f'{name}-robot', project=name) for name in PROJECTS[2:]),
)
"""One user of each project with servers, in the order of PROJECTS."""

PEOPLE = {one.name: one for one in (*TENANTS, OPERATOR, SERVICE)}
LOGINS = tuple(one for one in PEOPLE.values() if one.logs_in)
