# SPDX-License-Identifier: Apache-2.0
"""Filters and weighers for Nova's scheduler; the only place that imports nova.

Implements rule S1 of doc/source/specs/market.rst: nova.conf names these two functions, or single classes
by their paths:

    [filter_scheduler]
    available_filters = nova.scheduler.filters.all_filters
    available_filters = nova_market.scheduler.all_filters
    weight_classes = nova.scheduler.weights.all_weighers,nova_market.scheduler.all_weighers
"""

from stevedore import ExtensionManager

FILTERS = 'nova_market.scheduler.filters'
WEIGHERS = 'nova_market.scheduler.weighers'


def all_filters() -> list[type]:
    """The filter classes that are installed, for [filter_scheduler]available_filters."""
    return _classes(FILTERS)


def all_weighers() -> list[type]:
    """For [filter_scheduler]weight_classes: one class for all weighers of ours, and those of others.

    A class of another package in the namespace that is no SingleWeigher stays a weigher of its own.
    """
    # nova can be imported only where Nova runs
    from nova_market.scheduler.weighers import MarketWeigher, SingleWeigher

    others = [cls for cls in installed_weighers() if not issubclass(cls, SingleWeigher)]
    return [MarketWeigher, *others]


def installed_weighers() -> list[type]:
    """The weigher classes that are installed; MarketWeigher adds up those that are SingleWeighers."""
    return _classes(WEIGHERS)


def _classes(namespace: str) -> list[type]:
    """By name, so that every process has them in the same order.

    :raises ImportError: one of them cannot be imported.
    """
    found: ExtensionManager[type] = ExtensionManager(namespace, on_load_failure_callback=_refuse)
    return [found[name].plugin for name in sorted(found.names())]


def _refuse(manager: object, entry_point: object, error: BaseException) -> None:
    raise ImportError(f'{entry_point}: {error}') from error
