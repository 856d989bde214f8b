# SPDX-License-Identifier: Apache-2.0
"""A tender simulated: clouds that make offers, users that negotiate, a bank, and messages that take time."""
