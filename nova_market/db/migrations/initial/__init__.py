# SPDX-License-Identifier: Apache-2.0
"""The tables that versions/initial.py makes, topic by topic."""
