# SPDX-License-Identifier: Apache-2.0
"""Writes limits of guests: CPU, disk, memory, network."""
