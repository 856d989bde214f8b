# SPDX-License-Identifier: Apache-2.0
"""Real libvirt hosts and guests on one machine, for tests and experiments.

`host` and `image` (bash, in this directory) do the work and can be used by hand; host.Host and
guest.GuestSpec start them from Python, from a source tree as from an installed package.
"""
