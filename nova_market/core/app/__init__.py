# SPDX-License-Identifier: Apache-2.0
"""Applications: templates, what a controller decides for them, and what it remembers."""
