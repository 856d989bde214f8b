# SPDX-License-Identifier: Apache-2.0
"""Jobs of queues on hosts, chosen by the code that the service chooses with."""
