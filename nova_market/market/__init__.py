# SPDX-License-Identifier: Apache-2.0
"""The market engine: one round a period, from what is read to what is enforced and charged."""
