"""Mail in the background: a page answers equally fast with or without an e-mail, so its duration
does not reveal who has an account, and a mail server that is down causes no error."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor

from django.core.mail import EmailMessage

log = logging.getLogger(__name__)

POST = ThreadPoolExecutor(max_workers=1, thread_name_prefix="mail")
"""A process that ends sends first what waits here."""


def post_mail(message: EmailMessage) -> None:
    """Send it soon, after what waits already."""
    POST.submit(_send, message)


def _send(message: EmailMessage) -> None:
    try:
        message.send()
    except (OSError, ValueError) as error:  # smtplib's are OSErrors, a bad address is a ValueError
        log.warning("%r to %s could not be mailed: %s", message.subject, message.to, error)
