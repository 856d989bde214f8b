# SPDX-License-Identifier: Apache-2.0
"""Experiments on real guests."""
