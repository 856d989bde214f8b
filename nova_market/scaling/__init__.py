# SPDX-License-Identifier: Apache-2.0
"""The controller of applications: decides once in each round, and brings their servers to it."""
