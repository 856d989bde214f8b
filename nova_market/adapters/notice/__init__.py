# SPDX-License-Identifier: Apache-2.0
"""What carries notices: a mail server, and servers of users."""
