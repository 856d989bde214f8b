# SPDX-License-Identifier: Apache-2.0
"""Offers: what is read for them, core.tender's decision, what is stored of it."""
