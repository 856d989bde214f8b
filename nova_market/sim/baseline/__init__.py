# SPDX-License-Identifier: Apache-2.0
"""Schedulers to compare with: batch systems and a central optimum."""
