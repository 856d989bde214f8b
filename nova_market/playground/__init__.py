# SPDX-License-Identifier: Apache-2.0
"""A market that anyone can try: the real services on a cloud in memory that lives.

doc/source/user/playground.rst shows it.
"""
