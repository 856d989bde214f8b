# SPDX-License-Identifier: Apache-2.0
"""The tender: offers for tasks on workers, their prices, and the negotiation of those who ask."""
