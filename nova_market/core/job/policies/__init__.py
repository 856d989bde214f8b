# SPDX-License-Identifier: Apache-2.0
"""The policies that select jobs: one file for each."""
