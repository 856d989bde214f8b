# SPDX-License-Identifier: Apache-2.0
"""Which servers are migrated, and in which order."""
