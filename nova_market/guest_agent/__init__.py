# SPDX-License-Identifier: Apache-2.0
"""What runs inside guests."""
