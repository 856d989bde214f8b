# SPDX-License-Identifier: Apache-2.0
"""Loads plug-ins of our namespaces by name."""

from typing import Any

from stevedore import extension

from nova_market.errors import ConfigurationError


def load_plugin(namespace: str, name: str, option: str) -> Any:
    """The object behind an entry point.

    :raises ConfigurationError: names the option, the value and what there is.
    """
    manager: extension.ExtensionManager[Any] = extension.ExtensionManager(
        namespace, on_load_failure_callback=_ignore
    )
    try:
        return manager[name].plugin
    except KeyError:
        known = ', '.join(sorted(manager.names())) or 'none'
        raise ConfigurationError(
            f'{option} = {name}: no such plug-in in {namespace} that can be loaded; installed: {known}'
        ) from None


def _ignore(manager: object, entry_point: object, error: BaseException) -> None:
    """A plug-in of somebody else that can't be imported is no reason not to start."""
