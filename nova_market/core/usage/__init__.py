# SPDX-License-Identifier: Apache-2.0
"""Usage history: what servers used, minute by minute, and what that says of what was asked for."""
