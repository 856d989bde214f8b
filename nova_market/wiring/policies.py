# SPDX-License-Identifier: Apache-2.0
"""Which scaling policies are installed, and what each declares of itself (core.app.policies.traits)."""

import logging
from collections.abc import Mapping
from typing import Any

from stevedore import extension

from nova_market.core.app.policies.traits import Policy, PolicyTraits, traits_of

LOG = logging.getLogger(__name__)

NAMESPACE = 'nova_market.scaling'


def policies() -> Mapping[str, Policy]:
    """All that can be loaded, by name; a warning names one that can't be."""
    manager: extension.ExtensionManager[Any] = extension.ExtensionManager(
        NAMESPACE, on_load_failure_callback=_left_out
    )
    return {name: manager[name].plugin for name in manager.names()}


def traits_by_policy() -> Mapping[str, PolicyTraits]:
    """What each installed policy declares."""
    return {name: traits_of(policy) for name, policy in policies().items()}


def _left_out(_: object, entry_point: Any, error: BaseException) -> None:
    LOG.warning('scaling policy %s can not be loaded: %s', entry_point.name, error)
