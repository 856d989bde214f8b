# SPDX-License-Identifier: Apache-2.0
"""The services: observe, ask core, apply."""
