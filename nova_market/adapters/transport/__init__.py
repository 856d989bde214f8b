# SPDX-License-Identifier: Apache-2.0
"""Ways from host to host."""
