# SPDX-License-Identifier: Apache-2.0
"""Who may do what: every rule of the API with its default, in code.

The defaults follow secure RBAC: `reader` of a project sees, `member` acts, `manager` acts beyond the
project's own things, `admin` sees and does everything, `service` reads what other services need.
"""

import math
import time
from collections.abc import Callable, Sequence

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
    limit,
    notice,
    offer,
    plan,
    price,
    queue,
    role,
    scheduler,
    set_aside,
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
    limit,
    notice,
    history,
    plan,
    scheduler,
    set_aside,
)


def list_rules() -> Sequence[policy.RuleDefault]:
    """All rules, for the generators of oslo.policy."""
    return [rule for group in EVERY_GROUP for rule in group.RULES]


FRESH = 1.0
"""Seconds after which a changed policy file counts: to look for one takes a tenth of a short request."""


class Enforcer(policy.Enforcer):
    """Looks for changed files each second, and not for each question."""

    def __init__(self, conf: cfg.ConfigOpts, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(conf)
        self._clock = clock
        self._looked_at = -math.inf

    def load_rules(self, force_reload: bool = False) -> None:
        now = self._clock()
        if force_reload or now - self._looked_at >= FRESH:
            super().load_rules(force_reload)
            self._looked_at = now


def make_enforcer(conf: cfg.ConfigOpts, clock: Callable[[], float] = time.monotonic) -> Enforcer:
    """The rules, with what [oslo_policy]policy_file changes. clock: seconds"""
    opts.set_defaults(conf, policy_file=FILE)
    made = Enforcer(conf, clock)
    made.register_defaults(list_rules())
    return made


def get_enforcer() -> Enforcer:
    """What oslopolicy-policy-generator and oslopolicy-checker work with."""
    conf = cfg.ConfigOpts()
    conf([], project='nova_market')
    return make_enforcer(conf)
