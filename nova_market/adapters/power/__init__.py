# SPDX-License-Identifier: Apache-2.0
"""What switches hosts on and off: plug-ins of `nova_market.power`."""
