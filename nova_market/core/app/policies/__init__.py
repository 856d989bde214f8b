# SPDX-License-Identifier: Apache-2.0
"""Scaling policies: how much an application bids, and how many servers it has."""
