# SPDX-License-Identifier: Apache-2.0
"""A market over one pool of resources."""
