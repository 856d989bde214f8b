# SPDX-License-Identifier: Apache-2.0
"""A market on simulated hosts."""
