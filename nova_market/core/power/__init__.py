# SPDX-License-Identifier: Apache-2.0
"""Which hosts are on: servers on fewer hosts, and the others powered down and up again."""
