# SPDX-License-Identifier: Apache-2.0
"""Notices: what is sent of an event, who gets it, when, and in which words."""
