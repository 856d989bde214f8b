# SPDX-License-Identifier: Apache-2.0
"""Queues and jobs: what their owners ask for."""
