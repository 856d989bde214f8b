# SPDX-License-Identifier: Apache-2.0
"""From options to the frozen settings of the service; plug-ins are loaded and judged here."""

from typing import Any

from oslo_config import cfg
from stevedore import extension

from nova_market.core import soundness
from nova_market.core.fairness import FairnessSettings
from nova_market.core.heaviness import Metric
from nova_market.core.priority import PrioritySettings
from nova_market.errors import ConfigurationError


def load_plugin(namespace: str, name: str, option: str) -> Any:
    """The object behind an entry point.

    :raises ConfigurationError: names the option, the value and what there is.
    """
    manager = extension.ExtensionManager(namespace, on_load_failure_callback=_ignore)
    try:
        return manager[name].plugin
    except KeyError:
        known = ', '.join(sorted(manager.names())) or 'none'
        raise ConfigurationError(
            f'{option} = {name}: no such plug-in in {namespace} that can be loaded; installed: {known}'
        ) from None


def load_settings(conf: cfg.ConfigOpts) -> FairnessSettings:
    """Settings from group [fairness].

    :raises ConfigurationError: an option names what does not exist.
    :raises UnsoundMetric: the metric breaks a constraint of the paper that it does not waive.
    """
    options = conf.fairness
    metric = load_plugin('nova_market.heaviness', options.metric, '[fairness]metric')()
    if not isinstance(metric, Metric):
        raise ConfigurationError(
            f'[fairness]metric = {options.metric}: {type(metric).__name__} does not derive from '
            'nova_market.core.heaviness.Metric'
        )
    soundness.check(metric, options.metric)
    if not options.resources:
        raise ConfigurationError(
            '[fairness]resources is empty: name at least one resource, for example cpu'
        )
    return FairnessSettings(
        interval=options.interval,
        resources=tuple(options.resources),
        weighting=options.resource_weighting,
        split=options.undeclared_split,
        smoothing=options.smoothing,
        metric_name=options.metric,
        metric=metric,
        endowment=load_plugin('nova_market.endowment', options.endowment, '[fairness]endowment'),
        priority=PrioritySettings(
            mode=options.priority_mode,
            gain=options.gain,
            smoothing=options.controller_smoothing,
            span=options.span,
            emphasis=options.emphasis,
            grouping=options.grouping,
        ),
        entitlement=options.entitlement,
        policy=options.policy,
        idle=options.idle_threshold,
        threshold=options.write_threshold,
        totals_ttl=options.interval * options.totals_ttl_intervals,
        overcommit=(options.cpu_allocation_ratio, options.ram_allocation_ratio),
    )


def _ignore(manager: object, entry_point: object, error: Exception) -> None:
    """A plug-in of somebody else that can't be imported is no reason not to start."""
