# SPDX-License-Identifier: Apache-2.0
"""The simulator's world, which the tests use too."""
