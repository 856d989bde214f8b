# SPDX-License-Identifier: Apache-2.0
"""Jobs: from logs and from models."""
