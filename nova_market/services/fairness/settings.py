# SPDX-License-Identifier: Apache-2.0
"""From options to the frozen settings of the service; plug-ins are loaded and judged here."""

from oslo_config import cfg

from nova_market.core.fairness import metric_check
from nova_market.core.fairness.heaviness import Metric
from nova_market.core.fairness.priority import PrioritySettings
from nova_market.core.fairness.round import FairnessSettings
from nova_market.errors import ConfigurationError
from nova_market.plugins import load_plugin


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
            'nova_market.core.fairness.heaviness.Metric'
        )
    metric_check.check(metric, options.metric)
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
        idle_cores=options.idle_cores,
        threshold=options.write_threshold,
        least_cores=options.least_cores,
        totals_ttl=options.interval * options.totals_ttl_intervals,
        overcommit=(options.cpu_allocation_ratio, options.ram_allocation_ratio),
    )
