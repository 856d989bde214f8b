# SPDX-License-Identifier: Apache-2.0
"""Puts services together from the configuration."""
