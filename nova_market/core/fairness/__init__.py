# SPDX-License-Identifier: Apache-2.0
"""Heaviness of users, and how a host is divided by it."""
