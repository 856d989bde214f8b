# SPDX-License-Identifier: Apache-2.0
"""Blazar's own code, in a process of its own."""
