# SPDX-License-Identifier: Apache-2.0
"""The market's API in process, on a real SQLite, with a token per role and project.

A token is `<role>@<project>`: roles include those that Keystone implies (admin > manager > member > reader).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from flask import Flask
from oslo_config import cfg
from werkzeug.test import Client

from nova_market.adapters.in_memory.directory import StaticDirectory
from nova_market.adapters.in_memory.owner_names import StaticNames
from nova_market.adapters.in_memory.trusts import StaticTrusts
from nova_market.api.app import make_application
from nova_market.api.microversion import HEADER
from nova_market.api.stores import ApiStores, Settings
from nova_market.conf import api as api_options
from nova_market.conf.jobs import POLICIES
from nova_market.db.database import Database
from nova_market.services.notice.settings import NoticeLimits
from nova_market.services.tender.offers import OfferSettings
from nova_market.wiring.api import database_stores
from nova_market.wiring.policies import job_policies, traits_by_policy, utilities
from tests.support.lease_settings import SETTINGS
from tests.support.servers.databases import Wall

IMPLIED = {
    'admin': 'admin,manager,member,reader',
    'manager': 'manager,member,reader',
    'member': 'member,reader',
    'reader': 'reader',
    'service': 'service',
    'blazar': 'market_blazar',
    'region': 'market_region',
    'nothing': 'other',
}
ALICE, BOB, OPERATOR = 'a' * 32, 'b' * 32, 'c' * 32
DOMAIN = 'default'
PROJECTS = {
    one: (DOMAIN, name)
    for one, name in ((ALICE, 'astronomy'), (BOB, 'biology'), (OPERATOR, 'operations'))
}
SERVERS = {
    '00000000-0000-4000-8000-00000000000a': ALICE,
    '00000000-0000-4000-8000-0000000000aa': ALICE,
    '00000000-0000-4000-8000-00000000000b': BOB,
}
OF_ALICE, ALSO_OF_ALICE, OF_BOB = SERVERS
DELETED = '00000000-0000-4000-8000-00000000000d'
SIZE = (4.0, 4096.0)
"""vCPUs and MiB of each of these servers."""

FLAVORS = {'small': (1.0, 1024.0), 'big': (8.0, 16384.0)}

Wsgi = Callable[..., Iterable[bytes]]


def known_tokens(inner: Wsgi) -> Wsgi:
    """What keystonemiddleware does with a token: says who it is, or that there is none."""

    def serve(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        for name in [n for n in environ if n.startswith('HTTP_X_') and n != 'HTTP_X_AUTH_TOKEN']:
            if not name.startswith(('HTTP_X_FORWARDED', 'HTTP_X_OPENSTACK', 'HTTP_X_APP')):
                del environ[name]
        role, _, project = environ.get('HTTP_X_AUTH_TOKEN', '').partition('@')
        environ['HTTP_X_IDENTITY_STATUS'] = 'Confirmed' if role in IMPLIED else 'Invalid'
        if role in IMPLIED:
            environ['HTTP_X_ROLES'] = IMPLIED[role]
            environ['HTTP_X_USER_ID'] = f'{role}-user'
            if project:
                environ['HTTP_X_PROJECT_ID'] = project
                environ['HTTP_X_PROJECT_DOMAIN_ID'] = DOMAIN
            else:
                environ['HTTP_OPENSTACK_SYSTEM_SCOPE'] = 'all'
        return inner(environ, start_response)

    return serve


def roles_of_users() -> dict[tuple[str, str], set[str]]:
    """The roles that the tokens stand for."""
    return {
        (f'{role}-user', project): set(names.split(','))
        for role, names in IMPLIED.items()
        for project in (ALICE, BOB, OPERATOR)
    }


@dataclass(frozen=True, kw_only=True)
class Market:
    """The service, its database and stores, and a client of it."""

    database: Database
    stores: ApiStores
    application: Wsgi
    client: Client
    wall: Wall
    directory: StaticDirectory
    trusts: StaticTrusts
    names: StaticNames

    def call(self, method: str, path: str, token: str = '', **arguments: Any) -> Any:
        """A response; `json` of it is the document."""
        headers = {'X-Auth-Token': token} if token else {}
        local = path.removeprefix('http://localhost')
        if local.startswith(LATER) or '/statement/sums' in local:
            headers[HEADER] = 'market latest'
        headers |= arguments.pop('headers', {})
        return self.client.open(path, method=method, headers=headers, **arguments)


LATER = (
    '/v1/apps',
    '/v1/bids/suggestion',
    '/v1/economy',
    '/v1/purchasing-power',
    '/v1/queues',
    '/v1/jobs',
    '/v1/offers',
    '/v1/bags',
    '/v1/lease',
    '/v1/limits',
    '/v1/notices',
    '/v1/set-aside',
)
"""What version 1.1 does not have."""


def make_market(database: Database, **options: Any) -> Market:
    """A market on a database whose tables are there; options: of Settings, and what is popped."""
    wall = options.pop('wall', None) or Wall()
    directory = StaticDirectory(
        dict(SERVERS), dict(FLAVORS), sizes=dict.fromkeys(SERVERS, SIZE), projects=dict(PROJECTS)
    )
    trusts = options.pop('trusts', None) or StaticTrusts(roles_of_users())
    regions = options.pop('regions', None)
    names = options.pop('names', None) or StaticNames()
    given = database, directory, directory, trusts, names, wall
    stores = database_stores(*given, projects=directory, regions=regions)
    conf = cfg.ConfigOpts()
    api_options.register_opts(conf)
    conf([], project='nova_market', default_config_files=options.pop('config_files', []))
    metrics_token = options.pop('metrics_token', None)
    whole = Settings(
        response_validation='error',
        policies=traits_by_policy(),
        job_policies=job_policies((*POLICIES, 'value')),
        offers=OfferSettings(utilities=utilities()),
        leases=SETTINGS,
        notices=NoticeLimits(mail_domains=('*',), webhook_hosts=('*',)),
    )
    settings = replace(whole, **options)
    application = make_application(conf, stores, settings, known_tokens, metrics_token)
    return Market(
        database=database,
        stores=stores,
        application=application,
        client=Client(application, Flask.response_class),
        wall=wall,
        directory=directory,
        trusts=trusts,
        names=names,
    )


@pytest.fixture
def market(database: Database) -> Market:
    """An empty market."""
    return make_market(database)
