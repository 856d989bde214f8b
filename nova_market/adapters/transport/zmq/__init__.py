# SPDX-License-Identifier: Apache-2.0
"""ZeroMQ with CURVE."""
