# SPDX-License-Identifier: Apache-2.0
"""Notices: sent by mail and to webhooks."""
