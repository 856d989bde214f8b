# SPDX-License-Identifier: Apache-2.0
"""Who may do what: every rule of the API with its default, in code.

The defaults follow secure RBAC: `reader` of a project sees, `member` acts, `manager` acts beyond the
project's own things, `admin` sees and does everything, `service` reads what other services need.
"""

from collections.abc import Sequence

from oslo_config import cfg
from oslo_policy import opts, policy

from nova_market.api.policies import (
    account,
    app,
    bag,
    bid,
    budget,
    economy,
    history,
    job,
    lease,
    offer,
    plan,
    price,
    queue,
    role,
    scheduler,
)

FILE = 'policy.yaml'
EVERY_GROUP = (
    role,
    price,
    economy,
    account,
    budget,
    bid,
    app,
    queue,
    job,
    offer,
    bag,
    lease,
    history,
    plan,
    scheduler,
)


def list_rules() -> Sequence[policy.RuleDefault]:
    """All rules, for the generators of oslo.policy."""
    return [rule for group in EVERY_GROUP for rule in group.RULES]


def make_enforcer(conf: cfg.ConfigOpts) -> policy.Enforcer:
    """The rules, with what [oslo_policy]policy_file changes."""
    opts.set_defaults(conf, policy_file=FILE)
    made = policy.Enforcer(conf)
    made.register_defaults(list_rules())
    return made


def get_enforcer() -> policy.Enforcer:
    """What oslopolicy-policy-generator and oslopolicy-checker work with."""
    conf = cfg.ConfigOpts()
    conf([], project='nova_market')
    return make_enforcer(conf)
