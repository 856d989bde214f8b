# SPDX-License-Identifier: Apache-2.0
"""Keystone, Nova and Placement through openstacksdk."""
