# SPDX-License-Identifier: Apache-2.0
"""What Nova's scheduler knows of the market, and how hosts are filtered and weighed."""
