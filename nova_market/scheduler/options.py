# SPDX-License-Identifier: Apache-2.0
"""Registers group [nova_market] with Nova's own configuration, at import."""

import nova.conf

from nova_market.conf import scheduler

CONF = nova.conf.CONF

scheduler.register_opts(CONF)
