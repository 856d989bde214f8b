# SPDX-License-Identifier: Apache-2.0
"""Outages of ten minutes, on a simulated clock."""
