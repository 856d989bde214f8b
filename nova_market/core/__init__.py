# SPDX-License-Identifier: Apache-2.0
"""Decisions: frozen values and pure functions, by topic."""
