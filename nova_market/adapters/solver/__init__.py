# SPDX-License-Identifier: Apache-2.0
"""Solvers of linear and mixed-integer programs."""
