# SPDX-License-Identifier: Apache-2.0
"""The API, without a server."""
