# SPDX-License-Identifier: Apache-2.0
"""The power actuator that [power]actuator names."""

from collections.abc import Callable

from oslo_config import cfg

from nova_market.plugins import load_plugin
from nova_market.ports import PowerActuator

NAMESPACE = 'nova_market.power'

Plugin = Callable[[cfg.ConfigOpts], PowerActuator]


def power_actuator(conf: cfg.ConfigOpts) -> PowerActuator:
    """:raises ConfigurationError: no such plug-in, or an option of it that cannot work."""
    plugin: Plugin = load_plugin(NAMESPACE, conf.power.actuator, '[power]actuator')
    return plugin(conf)
