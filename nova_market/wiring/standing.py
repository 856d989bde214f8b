# SPDX-License-Identifier: Apache-2.0
"""What services ask about the users for whom they act: Keystone's roles, and the policies of the API."""

from collections.abc import Callable

from oslo_config import cfg

from nova_market.adapters.openstack.user_roles import KeystoneUserRoles
from nova_market.api.policies import make_enforcer
from nova_market.errors import ConfigurationError
from nova_market.ports import Clock, UserRoles
from nova_market.services.standing import Standings, StandingSettings


def standings(
    conf: cfg.ConfigOpts, needed_by: str, clock: Clock, roles: UserRoles | None = None
) -> Standings:
    """With the account of group [openstack] and [oslo_policy]policy_file; nothing is connected yet.

    roles: instead of Keystone's

    :raises ConfigurationError: the account is not complete, or an option that cannot work.
    """
    options = conf.roles
    if options.keep < options.ask_every:
        raise ConfigurationError(
            f'[roles]keep = {options.keep:g} is below ask_every = {options.ask_every:g}: give at least that'
        )
    settings = StandingSettings(ask_every=options.ask_every, keep=options.keep)
    roles = roles or KeystoneUserRoles.from_conf(conf, needed_by)
    return Standings(roles, allowing(conf), clock, settings)


def allowing(conf: cfg.ConfigOpts) -> Callable[[str, str, str, frozenset[str]], bool]:
    """allows(rule, user, project, roles): in the user's own project, by the policies of the API."""
    enforcer = make_enforcer(conf)

    def allows(rule: str, user_id: str, project_id: str, roles: frozenset[str]) -> bool:
        token = {'user_id': user_id, 'project_id': project_id, 'roles': sorted(roles)}
        return bool(enforcer.authorize(f'market:{rule}', {'project_id': project_id}, token))

    return allows
