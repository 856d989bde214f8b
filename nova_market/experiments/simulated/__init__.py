# SPDX-License-Identifier: Apache-2.0
"""Experiments in the simulator."""
