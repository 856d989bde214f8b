# SPDX-License-Identifier: Apache-2.0
"""What every database does for notices."""
