# SPDX-License-Identifier: Apache-2.0
"""Money: amounts, accounts, postings, currencies."""
