# SPDX-License-Identifier: Apache-2.0
"""Bids, prices, allocations: one round."""
