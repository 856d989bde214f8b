# SPDX-License-Identifier: Apache-2.0
"""Which scaling policies are installed, and which parameters each takes.

A plug-in of `nova_market.scaling` is a function of applications; its parameters are its keyword-only
arguments (core.app.policies.merkat_policies).
"""

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any

from stevedore import extension

LOG = logging.getLogger(__name__)

NAMESPACE = 'nova_market.scaling'


def parameters_by_policy() -> Mapping[str, frozenset[str]]:
    """The names that each policy takes; one that can't be loaded is left out, and said."""
    manager: extension.ExtensionManager[Any] = extension.ExtensionManager(
        NAMESPACE, on_load_failure_callback=_left_out
    )
    return {name: parameters_of(manager[name].plugin) for name in manager.names()}


def parameters_of(policy: Callable[..., Any]) -> frozenset[str]:
    """The keyword-only arguments of a policy."""
    arguments = inspect.signature(policy).parameters.values()
    return frozenset(one.name for one in arguments if one.kind is one.KEYWORD_ONLY)


def _left_out(_: object, entry_point: Any, error: BaseException) -> None:
    LOG.warning('scaling policy %s can not be loaded: %s', entry_point.name, error)
