# SPDX-License-Identifier: Apache-2.0
"""nova-market-status upgrade check: would the services of this version run with what is installed here?

To be run after the packages are new and before the services are restarted, as the command of the same name of
every OpenStack service is. It changes nothing.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import closing

from oslo_config import cfg
from oslo_upgradecheck import upgradecheck
from oslo_upgradecheck.upgradecheck import Code, Result

from nova_market.adapters.openstack.session import check_account
from nova_market.adapters.openstack.user_roles import KeystoneUserRoles
from nova_market.api.policies import make_enforcer
from nova_market.api.policies.spending import rules_of_services
from nova_market.cmd import command_line
from nova_market.conf import database as database_options
from nova_market.conf import opts
from nova_market.db import schema
from nova_market.db.database import Database
from nova_market.errors import (
    CloudUnavailable,
    ConfigurationError,
    NovaMarketError,
    SchemaBehind,
)
from nova_market.wiring import rebalancing
from nova_market.wiring.database import connect
from nova_market.wiring.limits_in_use import beyond_limits
from nova_market.wiring.market_settings import market_settings
from nova_market.wiring.options import check_values, explained
from nova_market.wiring.unknown_options import unknown_options

PROGRAM = 'nova-market-status'
DESCRIPTION = 'Would the services of this version run with what is installed here? Changes nothing.'
EXIT_USAGE = 255
"""As oslo.upgradecheck has it for everything that is no result of a check."""


class Checks(upgradecheck.UpgradeCommands):
    """The checks, in the order in which a mistake in one explains the next."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf

    def check(self) -> Code:
        """The oslo library takes any word for `check`."""
        word = self._conf.command.check
        if word != 'check':
            print(f'{PROGRAM}: upgrade {word}: there is only "upgrade check"', file=sys.stderr)
            raise SystemExit(EXIT_USAGE)
        return super().check()

    def _configuration(self) -> Result:
        try:
            check_values(self._conf, opts.list_opts())
            market_settings(self._conf)
            rebalancing.load(self._conf)
        except NovaMarketError as error:
            return Result(Code.FAILURE, str(error))
        unknown = '; '.join(unknown_options(self._conf))
        return Result(Code.WARNING, unknown) if unknown else Result(Code.SUCCESS)

    def _database(self) -> Result:
        return self._stored(lambda database: Result(Code.SUCCESS))

    def _limits(self) -> Result:
        def look(database: Database) -> Result:
            found = '; '.join(beyond_limits(self._conf, database))
            return Result(Code.WARNING, found) if found else Result(Code.SUCCESS)

        return self._stored(look)

    def _identity(self) -> Result:
        """Machines that run only nova-fairness need none."""
        if not self._conf.openstack.auth_type:
            why = '[openstack]auth_type is not set: the engine would not see the cloud'
            return Result(Code.WARNING, why)
        try:
            check_account(self._conf)
        except CloudUnavailable as error:
            return Result(Code.WARNING, str(error))
        except NovaMarketError as error:
            return Result(Code.FAILURE, str(error))
        return self._roles()

    def _roles(self) -> Result:
        """Every account may read its own user and project: its role assignments decide."""
        try:
            KeystoneUserRoles.from_conf(self._conf, PROGRAM).own()
        except CloudUnavailable as error:
            why = (
                'nova-market-controller, nova-market-jobs and nova-market-notices cannot see which roles '
                'users have: let the account read users, domains, projects and role assignments in '
                'Keystone, as the role admin may: '
            )
            return Result(Code.WARNING, f'{why}{error}')
        return Result(Code.SUCCESS)

    def _stored(self, look: Callable[[Database], Result]) -> Result:
        """What this look at the database finds, if the tables are those of this version."""
        try:
            with closing(connect(self._conf)) as database:
                schema.check(database)
                return look(database)
        except cfg.ConfigSourceValueError as error:
            return Result(Code.FAILURE, str(explained(self._conf, error)))
        except (ConfigurationError, SchemaBehind) as error:
            return Result(Code.FAILURE, str(error))
        except NovaMarketError as error:
            return Result(Code.FAILURE, f'{error}: check [database]connection')

    def _spending(self) -> Result:
        """A file of policies may still have what was the default of an older version."""
        found = rules_of_services(make_enforcer(self._conf))
        if found:
            why = f'a token with the role service alone can spend by {", ".join(found)}: '
            return Result(Code.WARNING, why + 'change [oslo_policy]policy_file')
        return Result(Code.SUCCESS)

    _upgrade_checks = (
        ('Configuration', _configuration),
        ('Database revision', _database),
        ('Limits of queues and leases', _limits),
        ('Account of the engine', _identity),
        ('Rules of credits', _spending),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the exit code: 0 all is well, 1 warnings, 2 a failure, 255 the checks could not be run."""
    conf = cfg.ConfigOpts()
    opts.register_opts(conf)
    database_options.register_opts(conf)
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        upgradecheck.register_cli_options(conf, Checks(conf))
        command_line.parse(conf, words or ['--help'], PROGRAM, DESCRIPTION)
        # where --json is looked for
        upgradecheck.CONF = conf
        return int(upgradecheck.run(conf))
    except cfg.Error as error:
        print(f'{PROGRAM}: {error}', file=sys.stderr)
        return EXIT_USAGE
    except SystemExit as stop:
        # argparse has printed what is wrong, and its exit status would mean a failed check
        return EXIT_USAGE if stop.code else 0


if __name__ == '__main__':
    sys.exit(main())
