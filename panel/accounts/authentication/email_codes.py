"""Six digits by e-mail: the proof of identity for a person without a password."""

from __future__ import annotations

import logging
import secrets
from datetime import timedelta

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as marked

from panel.models import StepUpCode, User
from storage.planner import Refused

log = logging.getLogger(__name__)

SALT = "panel.mailcode"
DIGITS = 6
LIFETIME = timedelta(minutes=10)
PAUSE = timedelta(minutes=1)
"""Between two mails to one person."""
MOST_PER_HOUR = 5
WRONG = marked("The code is wrong or has expired. Use the newest mail, or request a new code.")


def send_code(user: User, session_key: str) -> None:
    """Mail a new code that is good in this session alone; older ones stop working. Raises
    `Refused` (too_soon, too_many, not_sent)."""
    if not settings.SMTP_HOST:
        raise Refused(
            "not_sent",
            gettext("This panel sends no mail."),
            gettext("Ask your provider for a reset link."),
        )
    code = f"{secrets.randbelow(10**DIGITS):0{DIGITS}}"
    with transaction.atomic():
        # Two clicks at once are one mail: they wait for each other here.
        User.objects.select_for_update().get(pk=user.pk)
        own = StepUpCode.objects.filter(user=user)
        own.filter(created_at__lt=Now() - timedelta(hours=1)).delete()
        if own.filter(created_at__gt=Now() - PAUSE).exists():
            raise Refused(
                "too_soon",
                gettext("We sent you a code less than a minute ago."),
                gettext("Check your mail, or wait a minute."),
            )
        if own.count() >= MOST_PER_HOUR:
            raise Refused(
                "too_many",
                gettext("We have sent you too many codes."),
                gettext("Try again in an hour."),
            )
        own.update(expires_at=Now())
        StepUpCode.objects.create(
            user=user, digest=_digest(user, session_key, code), expires_at=Now() + LIFETIME
        )
    text = gettext(
        "Your code is {code}\n\n"
        "Enter the code on the page that asked for it. The code is valid for {n} minutes.\n"
        "If you did not request a code, someone else may be using your account. Do not share the "
        "code.\n"
    ).format(code=code, n=LIFETIME.seconds // 60)
    try:
        send_mail(gettext("Your code for Tiercel"), text, None, [user.email])
    except OSError as error:  # smtplib's errors are OSErrors
        log.warning("the code of %s could not be mailed: %s", user.email, error)
        raise Refused(
            "not_sent",
            gettext("The mail could not be sent."),
            gettext("Try again later, or ask your provider."),
        ) from error


def has_open(user: User) -> bool:
    """Whether a code was mailed that may still be typed."""
    return StepUpCode.objects.open().filter(user=user).exists()


def accept_code(user: User, session_key: str, typed: str) -> bool:
    """Whether it is the code mailed last. Each attempt counts before it is compared, so that
    parallel attempts count like sequential ones."""
    last = StepUpCode.objects.open().filter(user=user).values_list("pk", "digest").first()
    if last is None:
        return False
    pk, digest = last
    is_counted = StepUpCode.objects.open().filter(pk=pk).update(tries=F("tries") + 1)
    if not is_counted or not constant_time_compare(digest, _digest(user, session_key, typed)):
        return False
    return StepUpCode.objects.filter(pk=pk, used_at=None).update(used_at=Now()) == 1


def _digest(user: User, session_key: str, code: str) -> str:
    value = f"{user.pk}:{session_key}:{code}"
    return salted_hmac(SALT, value, algorithm="sha256").hexdigest()
