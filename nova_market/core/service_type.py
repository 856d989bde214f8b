# SPDX-License-Identifier: Apache-2.0
"""What this service is called in Keystone's catalog, in access rules and in the header of versions."""

SERVICE_TYPE = 'market'
