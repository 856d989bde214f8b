# SPDX-License-Identifier: Apache-2.0
"""The commands. They run on native threads: chosen before any of them imports oslo_service.service."""

import sys
import warnings

from nova_market.cmd import extras

# before the first import of what an extra brings
sys.excepthook = extras.explain

# futurist, which oslo.service uses, imports eventlet where it finds it; we never do
warnings.filterwarnings('ignore', message=r'\s*Eventlet is deprecated')

from oslo_service import backend  # noqa: E402

backend.init_backend(backend.BackendType.THREADING)
