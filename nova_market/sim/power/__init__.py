# SPDX-License-Identifier: Apache-2.0
"""Days of servers on hosts that draw power: all on, on fewer hosts, and with the others powered down."""
