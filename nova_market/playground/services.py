# SPDX-License-Identifier: Apache-2.0
"""The real services and the real API of the playground, put together as everywhere, on the cloud in memory.

They share one database and one clock, and one thread calls all of them in turn.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oslo_config import cfg

from nova_market.adapters.in_memory.owner_names import StaticNames
from nova_market.adapters.openstack.token_check import checked_tokens
from nova_market.api.app import make_application
from nova_market.core.app.cloud_name import NameKind
from nova_market.db import schema
from nova_market.db.database import Database
from nova_market.db.rounds import DatabaseRounds
from nova_market.playground.identity import Identity
from nova_market.playground.mail import Mailbox
from nova_market.playground.people import id_of
from nova_market.playground.world import FLAVORS, IMAGES, World
from nova_market.services.leader_loop import LeaderLoop
from nova_market.services.usage.recorder import UsageRecorder
from nova_market.wiring import api, controller, engine, jobs, leases, notices
from nova_market.wiring.api import Wsgi
from nova_market.wiring.database import connect

USAGE_EVERY = 30.0
"""Seconds of the cloud's clock between two turns of the usage history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """loops: of the services, in the order in which they are called; parts: what must be closed"""

    database: Database
    loops: Sequence[LeaderLoop]
    usage: UsageRecorder
    parts: Sequence[Any]

    def start(self) -> None:
        for loop in self.loops:
            loop.start()

    def tick(self) -> None:
        """Each does what is due."""
        for loop in self.loops:
            loop.tick()

    def close(self) -> None:
        for loop in self.loops:
            loop.stop()
        for part in self.parts:
            part.close()


def configuration(path: Path) -> cfg.ConfigOpts:
    """Of all services. path: what Folder.configure has written"""
    conf = cfg.ConfigOpts()
    api.register_opts(conf)
    conf(['--config-file', str(path)], project='nova_market', default_config_files=[])
    return conf


def tables(conf: cfg.ConfigOpts) -> Database:
    """The database, with the tables that this version needs.

    :raises ConfigurationError: it is of a newer version.
    """
    database = connect(conf)
    schema.sync(database)
    return database


def last_round(database: Database) -> int:
    """The period of the newest round, 0: there is none."""
    found = DatabaseRounds(database, lambda: 0.0).rounds(limit=1)
    return found[0].period if found else 0


def services(
    conf: cfg.ConfigOpts, database: Database, world: World, identity: Identity, mailbox: Mailbox
) -> Services:
    """All of them, nothing started."""
    common: dict[str, Any] = {'clock': world.clock, 'open_database': lambda _conf: database}
    market = engine.build(conf, cloud=world.cloud, enforcement=world.enforcement, **common)
    apps = controller.build(conf, cloud=world.apps, roles=identity, **common)
    queues = jobs.build(
        conf, cloud=world.workers, hosts=world.cloud, flavors=world, roles=identity, **common
    )
    booked = leases.build(
        conf, hosts=world.cloud, actuator=world.machines, services=world.cloud, **common
    )
    sent = notices.build(conf, mail=mailbox, roles=identity, **common)
    return Services(
        database=database,
        loops=(market.engine, apps.controller, queues.jobs, booked.leases, sent.delivery),
        usage=market.usage,
        parts=(market, apps, queues, booked, sent),
    )


def application(conf: cfg.ConfigOpts, database: Database, world: World, identity: Identity) -> Wsgi:
    """The API, which asks the playground's Keystone whose a token is."""
    names = StaticNames(
        {
            NameKind.FLAVOR: [one for name in FLAVORS for one in (name, id_of('flavor', name))],
            NameKind.IMAGE: [one for name in IMAGES for one in (name, id_of('image', name))],
            NameKind.NETWORK: ['private'],
        }
    )
    stores = api.database_stores(
        database, world, world, identity, names, world.clock.wall, projects=world
    )
    authenticate = functools.partial(checked_tokens, conf=conf, unavailable=api.keystone_away)
    return make_application(conf, stores, api.settings(conf), authenticate)
