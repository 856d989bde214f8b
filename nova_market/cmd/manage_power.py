# SPDX-License-Identifier: Apache-2.0
"""Subcommands `power` of nova-market-manage: where hosts are on their way, why, and what switches them.

None of them switches a host off.
"""

import sys
from typing import Any

from oslo_config import cfg

from nova_market.core.resource import HostName
from nova_market.core.timestamp import stamp
from nova_market.db.job_states import DatabaseJobStates
from nova_market.db.power import DatabasePower
from nova_market.errors import ConfigurationError, PowerRefused, PowerUnavailable
from nova_market.services.power import status
from nova_market.wiring.database import ready
from nova_market.wiring.power import power_actuator

EXIT_FAILED = 1


def add_commands(subparsers: Any) -> None:
    """Add `power` to the subparsers of nova-market-manage."""
    group = subparsers.add_parser('power', help='What switches hosts on and off.')
    actions = group.add_subparsers(title='actions', metavar='ACTION', required=True, dest='action')
    for name, run, text in (
        (
            'show',
            _show,
            'Print whether hosts are on, off or unknown, as [power]actuator sees them.',
        ),
        ('on', _on, 'Switch hosts on, by [power]actuator; nothing for those that are on.'),
    ):
        parser = actions.add_parser(name, help=text, description=text)
        parser.add_argument('hosts', metavar='HOST', nargs='+', help='name of a compute host')
        parser.set_defaults(run=run)
    text = 'Hosts: where they are on their way down or up, their idle watts, and why.'
    actions.add_parser('list', help=text, description=text).set_defaults(run=_list)
    text = 'What was done with a host and why, newest first.'
    events = actions.add_parser('events', help=text, description=text)
    events.add_argument('host', metavar='HOST', help='name of a compute host')
    events.set_defaults(run=_events)


def _list(conf: cfg.ConfigOpts) -> int:
    database = ready(conf)
    print(status.render(DatabasePower(database), DatabaseJobStates(database)))
    return 0


def _events(conf: cfg.ConfigOpts) -> int:
    for one in DatabasePower(ready(conf)).events(conf.command.host):
        print(f'{stamp(one.at)} {one.action} {one.reason}')
    return 0


def _show(conf: cfg.ConfigOpts) -> int:
    actuator = power_actuator(conf)
    if not actuator.acts:
        print(
            f'nova-market-manage: [power]actuator = {conf.power.actuator} cannot see whether hosts are on; '
            'set script, redfish or ironic',
            file=sys.stderr,
        )

    def show(host: HostName) -> None:
        print(f'{host} {actuator.state(host)}')

    return _each(conf, show)


def _on(conf: cfg.ConfigOpts) -> int:
    actuator = power_actuator(conf)
    if not actuator.acts:
        raise ConfigurationError(
            f'[power]actuator = {conf.power.actuator} switches nothing: set script, redfish or ironic'
        )
    return _each(conf, actuator.power_on)


def _each(conf: cfg.ConfigOpts, act: Any) -> int:
    """Every host is tried, also after one that failed."""
    status = 0
    for host in conf.command.hosts:
        try:
            act(HostName(host))
        except (PowerRefused, PowerUnavailable) as error:
            print(f'nova-market-manage: {error}', file=sys.stderr)
            status = EXIT_FAILED
    return status
