"""gunicorn's settings: threads, and loopback unless TIERCEL_BIND says otherwise."""

import os

bind = f"{os.environ.get('TIERCEL_BIND', '127.0.0.1')}:{os.environ.get('PORT', '8000')}"
worker_class = "panel.http.request_worker.WholeRequestWorker"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
# Of these the API has at most three quarters, and requests that wait for a job a third.
threads = 12
timeout = 30
# Longer than the minute for which proxies keep a connection: the side that closes first loses no
# request.
keepalive = 75
# A heartbeat file on a slow disk can block a worker until the arbiter kills it.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108
accesslog = None
# Its default lies in the home folder, which one user's checkouts share.
control_socket_disable = True
# The panel is mounted at the root: otherwise a client that sends SCRIPT_NAME through a proxy on
# this machine would choose its path.
forwarder_headers = ""
