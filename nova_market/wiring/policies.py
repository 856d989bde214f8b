# SPDX-License-Identifier: Apache-2.0
"""Which policies, utilities and algorithms are installed, and what scaling policies declare of themselves."""

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any

from stevedore import extension

from nova_market.core.app.policies.traits import Policy, PolicyTraits, traits_of
from nova_market.core.app.template import Goal
from nova_market.core.job.policy_interface import Selection, parameters_of
from nova_market.core.lease.objective import Objective
from nova_market.core.lease.placement_interface import Placement
from nova_market.core.tender.utility import Utility

LOG = logging.getLogger(__name__)

NAMESPACE = 'nova_market.scaling'
JOB_NAMESPACE = 'nova_market.job_policy'
OBJECTIVE_NAMESPACE = 'nova_market.objective'
PLACEMENT_NAMESPACE = 'nova_market.placement'
UTILITY_NAMESPACE = 'nova_market.utility'


def policies() -> Mapping[str, Policy]:
    """All that can be loaded and used, by name; a warning names one that can't be."""
    manager: extension.ExtensionManager[Any] = extension.ExtensionManager(
        NAMESPACE, on_load_failure_callback=_left_out
    )
    return readable({name: manager[name].plugin for name in manager.names()})


def readable(loaded: Mapping[str, Policy]) -> Mapping[str, Policy]:
    """Those that declare of themselves what can be read; a warning names each of the others."""
    found: dict[str, Policy] = {}
    for name, policy in loaded.items():
        try:
            traits_of(policy)
        except (TypeError, ValueError) as error:
            LOG.warning(
                'scaling policy %s can not be used: %s: goals are %s', name, error, ', '.join(Goal)
            )
        else:
            found[name] = policy
    return found


def job_plugins(allowed: Collection[str]) -> Mapping[str, Callable[..., Selection]]:
    """Policies of queues that are allowed and can be loaded, by name; a warning names each of the others."""
    manager: extension.ExtensionManager[Any] = extension.ExtensionManager(
        JOB_NAMESPACE, on_load_failure_callback=_left_out
    )
    found = {name: manager[name].plugin for name in sorted(manager.names())}
    if missing := sorted(set(allowed) - found.keys()):
        LOG.warning(
            '[jobs]policies has %s, which is not installed: there is %s',
            ', '.join(missing), ', '.join(found),
        )  # fmt: skip
    return {name: plugin for name, plugin in found.items() if name in allowed}


def job_policies(allowed: Collection[str]) -> Mapping[str, Collection[str] | None]:
    """The same policies, with the parameters that each takes."""
    return {name: parameters_of(plugin) for name, plugin in job_plugins(allowed).items()}


def utilities() -> Mapping[str, Utility]:
    """Utilities of offers that can be loaded, by name; a warning names one that can't be."""
    manager: extension.ExtensionManager[Any] = extension.ExtensionManager(
        UTILITY_NAMESPACE, on_load_failure_callback=_left_out
    )
    return {name: manager[name].plugin for name in sorted(manager.names())}


def placements() -> Mapping[str, Placement]:
    """Algorithms that place leases, by name; a warning names one that can't be loaded."""
    manager: extension.ExtensionManager[Any] = extension.ExtensionManager(
        PLACEMENT_NAMESPACE, on_load_failure_callback=_left_out
    )
    return {name: manager[name].plugin for name in sorted(manager.names())}


def objectives() -> Mapping[str, Objective]:
    """What they minimise, by name; a warning names one that can't be loaded."""
    manager: extension.ExtensionManager[Any] = extension.ExtensionManager(
        OBJECTIVE_NAMESPACE, on_load_failure_callback=_left_out
    )
    return {name: manager[name].plugin for name in sorted(manager.names())}


def traits_by_policy() -> Mapping[str, PolicyTraits]:
    """What each installed policy declares."""
    return {name: traits_of(policy) for name, policy in policies().items()}


def _left_out(_: object, entry_point: Any, error: BaseException) -> None:
    LOG.warning('policy %s can not be loaded: %s', entry_point.name, error)
