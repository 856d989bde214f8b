# SPDX-License-Identifier: Apache-2.0
"""Who sends what over a transport, and when."""
