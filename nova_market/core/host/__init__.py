# SPDX-License-Identifier: Apache-2.0
"""What a host has and what its guests use."""
