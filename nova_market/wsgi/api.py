# SPDX-License-Identifier: Apache-2.0
"""`nova_market.wsgi.api:application` for uWSGI, gunicorn and mod_wsgi."""

import threading

from nova_market.wiring.api import Wsgi, configured_application

application: Wsgi | None = None
_lock = threading.Lock()

with _lock:
    # a server that reads this module in two threads at once gets one application
    if application is None:
        application = configured_application()
