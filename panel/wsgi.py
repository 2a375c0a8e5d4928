"""The WSGI entry that gunicorn serves.

It gives request bodies in chunks (RFC 9112, 7.1) a length: Django treats a request without one as a
request without a body, and would silently lose the body. It refuses a request without a Host (RFC
9112, 3.2), for which Django would take the server's own name.
"""

from __future__ import annotations

import gc
import os
from io import BytesIO
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.wsgi import get_wsgi_application

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication


def with_lengths(application: WSGIApplication) -> WSGIApplication:
    """The application, for a server that puts chunks together (`wsgi.input_terminated`): each
    request has a length. Of a body that is too large so much is read that Django refuses it."""
    most_bytes = settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1

    def answer(environ: dict[str, Any], start_response: StartResponse) -> Any:
        is_chunked = "HTTP_TRANSFER_ENCODING" in environ and "CONTENT_LENGTH" not in environ
        if is_chunked and environ.get("wsgi.input_terminated"):
            body = environ["wsgi.input"].read(most_bytes)
            environ |= {"CONTENT_LENGTH": str(len(body)), "wsgi.input": BytesIO(body)}
        return application(environ, start_response)

    return answer


def with_hosts(application: WSGIApplication) -> WSGIApplication:
    """The application, for requests that say whom they ask; others get a 400."""

    def answer(environ: dict[str, Any], start_response: StartResponse) -> Any:
        if environ["SERVER_PROTOCOL"] == "HTTP/1.0" or environ.get("HTTP_HOST"):
            return application(environ, start_response)
        start_response("400 Bad Request", [("Content-Type", "text/plain")])
        return [b"A request names its host.\n"]

    return answer


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")

application = with_hosts(with_lengths(get_wsgi_application()))

# A page makes tens of thousands of small objects, and hardly a cycle among them: Python would look
# for some six times a page, and now and then through all the code that is loaded (0.1 s).
gc.collect()
gc.freeze()
gc.set_threshold(10_000, 10, 10)
