# SPDX-License-Identifier: Apache-2.0
"""Scenarios from files: read, run, swept, written as tables and plots."""
