# SPDX-License-Identifier: Apache-2.0
"""Usage history: from the hosts' messages to the database."""
