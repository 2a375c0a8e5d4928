"""Settings: how the panel is configured, as its environment says, whether that works, and a test of
each part. A secret is only ever "set" or "not set"."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

import django
from django.conf import settings
from django.contrib import messages
from django.core.mail import EmailMessage
from django.db import connection
from django.db.models import Max, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from jobs.models import AlertRound
from panel import VERSION
from panel.deliveries.failure_words import failure_words
from panel.models import (
    AlertDelivery,
    AlertRoute,
    Message,
    SecurityEntry,
    SecurityKind,
    Webhook,
)
from panel.operations import doctor
from panel.operations.system_checks import NO_SUPPORT, customers_reach_support
from panel.orders.pricing import mandate_limits
from panel.staff.alerts.alert_list import STALE_SECONDS
from storage.access import Right, staff_view
from storage.formatting import counted, seconds, size
from storage.metrics.samples.chunk_store import NOTED_LIMIT, kept_for, unreadable_chunks
from storage.metrics.samples.stored_bytes import StoredBytes, stored_chunks, stored_rows
from storage.models import UNREADABLE_CHUNK, LatestSample, Resolution, SampleChunk

OLD_BACKUP: Final = timedelta(days=2)
DELIVERED_DAYS: Final = 90
STORED: Final = (
    (Resolution.RAW, "Samples are kept as measured", "TIERCEL_SAMPLES_KEPT_DAYS"),
    (Resolution.FIVE_MINUTES, "In steps of 5 minutes", "TIERCEL_5M_KEPT_DAYS"),
    (Resolution.HOUR, "In steps of 1 hour", "TIERCEL_1H_KEPT_DAYS"),
    (Resolution.DAY, "In steps of 1 day", ""),
)
UNSET: Final = ("not set", "never", "none")
"""What the value of a setting begins with that is to be set."""
NO_RECIPIENT: Final = "No alert recipients."


@dataclass(frozen=True, slots=True)
class SettingRow:
    """`variable` is the one of the environment that changes it, "" for none; `warning` is why the
    value needs a look."""

    name: str
    value: str
    variable: str = ""
    warning: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it is not set, or needs a look."""
        return bool(self.warning) or self.value.startswith(UNSET)


@dataclass(frozen=True, slots=True)
class SettingsGroup:
    """`document` and `anchor` say where Help explains it; `test_route` takes a POST that tries it,
    and `untested` is why it cannot be tried."""

    title: str
    rows: tuple[SettingRow, ...]
    document: str
    anchor: str
    test_route: str = ""
    test_text: str = ""
    untested: str = ""

    @property
    def slug(self) -> str:
        return self.title.lower().replace(" ", "-")

    @property
    def help_url(self) -> str:
        """Where Help explains it."""
        return f"{reverse('help-document', args=[self.document])}#{self.anchor}"


@require_http_methods(["GET", "HEAD", "POST"])
@staff_view(Right.ADMINISTER)
def settings_page(request: HttpRequest) -> HttpResponse:
    """Everything at a glance; a POST runs the checks as well, which ask other servers. The page
    asks for its line about the workers (`check=workers`), who take up to two seconds to answer."""
    if request.GET.get("check") == "workers" and "HX-Request" in request.headers:
        findings = list(doctor.examine(("redis", "workers", "beat")))
        return render(request, "staff/settings/_workers.html", {"findings": findings})
    now = timezone.now()
    groups = [build(now) for build in GROUPS]
    only_open = request.GET.get("only") == "open"
    if only_open:
        short = (
            replace(each, rows=tuple(row for row in each.rows if row.is_open)) for each in groups
        )
        groups = [each for each in short if each.rows]
    context = {
        "about": _about(),
        "groups": groups,
        "only_open": only_open,
        "findings": list(doctor.examine()) if request.method == "POST" else None,
    }
    return render(request, "staff/settings/settings.html", context)


@require_POST
@staff_view(Right.ADMINISTER)
def test_mail(request: HttpRequest) -> HttpResponse:
    """Send a message to the admin who asks, and wait for what the mail server says."""
    to = request.user.get_username()
    if not settings.SMTP_HOST:
        messages.error(request, "Nothing was sent: TIERCEL_SMTP_HOST is not set.")
        return redirect("settings")
    text = f"Test message from {settings.TIERCEL_PUBLIC_URL}. E-mail works.\n"
    try:
        EmailMessage("[Tiercel] Test message", text, to=[to]).send()
    except (OSError, ValueError) as error:  # smtplib's are OSErrors, a bad address is a ValueError
        why = failure_words(error, "mail server")
        messages.error(request, f"The test message to {to} was not sent. {why}"[:300])
    else:
        messages.success(request, f"The mail server accepted a test message to {to}.")
    return redirect("settings")


def _about() -> tuple[SettingRow, ...]:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        (server,) = cursor.fetchone()
        cursor.execute("SELECT pg_database_size(current_database())")
        (database_bytes,) = cursor.fetchone()
    return (
        SettingRow("Version", VERSION),
        SettingRow("Address", settings.TIERCEL_PUBLIC_URL, "TIERCEL_PUBLIC_URL"),
        SettingRow("Database", f"PostgreSQL {server.split()[0]}, {size(database_bytes)}"),
        SettingRow("Python, Django", f"{platform.python_version()}, {django.get_version()}"),
        SettingRow("Notice on every page", settings.TIERCEL_NOTICE or "none", "TIERCEL_NOTICE"),
    )


def _mail(now: datetime) -> SettingsGroup:
    host = settings.SMTP_HOST
    missing = "" if host else doctor.MAIL_OFF
    rows = [SettingRow("Mail server", host or "not set", "TIERCEL_SMTP_HOST", missing)]
    if host:
        tls = "STARTTLS" if settings.EMAIL_USE_TLS else "no TLS"
        account = settings.EMAIL_HOST_USER or "no account"
        rows += [
            SettingRow("Port", f"{settings.EMAIL_PORT}, {tls}", "TIERCEL_SMTP_PORT"),
            SettingRow("Account", account, "TIERCEL_SMTP_USER"),
            SettingRow("Password", _set(settings.EMAIL_HOST_PASSWORD), "TIERCEL_SMTP_PASSWORD"),
            SettingRow("Sender", settings.DEFAULT_FROM_EMAIL, "TIERCEL_MAIL_FROM"),
        ]
    return SettingsGroup(
        "Mail",
        tuple(rows),
        "production",
        "settings",
        "settings-mail",
        "Send a test message",
        untested="" if host else "Set TIERCEL_SMTP_HOST first.",
    )


def _alerts(now: datetime) -> SettingsGroup:
    last = AlertRound.objects.first()
    judged = last.at if last is not None else None
    is_late = judged is None or (now - judged).total_seconds() > STALE_SECONDS
    late = "Alerts are not evaluated: check that worker and beat run." if is_late else ""
    routes = AlertRoute.objects.in_use().count()
    unsent = AlertDelivery.objects.unsent().filter(attempts__gt=0).count()
    away = f"{counted(unsent, 'message')} not delivered yet." if unsent else ""
    webhooks = Webhook.objects.filter(is_on=True)
    failing = webhooks.filter(Q(failures__gt=0) | Q(disabled_at__isnull=False)).count()
    refused = (
        f"{counted(failing, 'webhook')} not accepting events: see Webhooks." if failing else ""
    )
    url = settings.TIERCEL_HEARTBEAT_URL
    sign = last.heartbeat_error if last is not None and url else ""
    rows = (
        SettingRow("Last evaluated", _ago(judged, now), warning=late),
        SettingRow(
            "Recipients",
            counted(routes, "recipient"),
            warning=away if routes else NO_RECIPIENT,
        ),
        SettingRow(
            "Escalate after",
            seconds(settings.TIERCEL_ALERT_ESCALATE_SECONDS),
            "TIERCEL_ALERT_ESCALATE_SECONDS",
        ),
        SettingRow(
            "Private hosts",
            ", ".join(settings.TIERCEL_ALERT_PRIVATE_HOSTS) or "none",
            "TIERCEL_ALERT_PRIVATE_HOSTS",
        ),
        SettingRow("Webhooks", counted(webhooks.count(), "webhook"), warning=refused),
        SettingRow(
            "Private hosts of webhooks",
            ", ".join(settings.TIERCEL_WEBHOOK_PRIVATE_HOSTS) or "none",
            "TIERCEL_WEBHOOK_PRIVATE_HOSTS",
        ),
        SettingRow(
            "Dead-man's switch",
            urlsplit(url).hostname or "not set",
            "TIERCEL_HEARTBEAT_URL",
            warning=sign,
        ),
        SettingRow("Last heartbeat", _ago(last.heartbeat_at if last is not None else None, now)),
    )
    anchor = "alerts-one-message-when-a-problem-lasts-one-when-it-ends"
    return SettingsGroup("Alerts", rows, "operators", anchor)


def _billing(now: datetime) -> SettingsGroup:
    url = settings.TIERCEL_BILLING_URL
    unsent = Message.objects.unsent().filter(attempts__gt=0).count()
    late = f"{counted(unsent, 'message')} not delivered yet." if unsent else ""
    seen = Message.objects.aggregate(at=Max("delivered_at"))["at"]
    rows = [SettingRow("Address", _without_account(url) or "not set", "TIERCEL_BILLING_URL", late)]
    if url:
        wait = seconds(settings.TIERCEL_AUTHORISE_SECONDS)
        rows += [
            SettingRow(
                "Secrets", _set(settings.TIERCEL_BILLING_SECRETS), "TIERCEL_BILLING_SECRETS"
            ),
            SettingRow("An order waits at most", wait, "TIERCEL_AUTHORISE_SECONDS"),
            SettingRow("On timeout", settings.TIERCEL_BILLING_TIMEOUT, "TIERCEL_BILLING_TIMEOUT"),
            SettingRow("Last delivery", _ago(seen, now)),
        ]
    rows.append(
        SettingRow(
            "Signed calls",
            "accepted" if settings.TIERCEL_BILLING_IN_SECRETS else "rejected, no secret set",
            "TIERCEL_BILLING_IN_SECRETS",
        )
    )
    return SettingsGroup(
        "Billing",
        tuple(rows),
        "billing",
        "set-up",
        "billing-test",
        "Send a test message",
        untested="" if url else "Set TIERCEL_BILLING_URL first.",
    )


def _selling(now: datetime) -> SettingsGroup:
    trial = settings.TIERCEL_TRIAL_DAYS
    may = "yes" if settings.TIERCEL_CUSTOMERS_MAY_ORDER else "no"
    is_reachable = customers_reach_support()
    demand = "required" if settings.TIERCEL_MANDATE_REQUIRED else "not required"
    rows = (
        SettingRow("Customers order themselves", may, "TIERCEL_CUSTOMERS_MAY_ORDER"),
        SettingRow(
            "Payment authorisation",
            demand,
            "TIERCEL_MANDATE_REQUIRED",
            warning=mandate_limits.dead_end(),
        ),
        SettingRow(
            "Customers authorise payments at",
            settings.TIERCEL_REAUTHORISE_URL or "not set",
            "TIERCEL_REAUTHORISE_URL",
        ),
        SettingRow(
            "Customers reach support at",
            settings.TIERCEL_SUPPORT_EMAIL or settings.TIERCEL_SUPPORT_URL or "not set",
            "TIERCEL_SUPPORT_EMAIL",
            warning="" if is_reachable else NO_SUPPORT,
        ),
        SettingRow(
            "Customers find invoices at",
            settings.TIERCEL_INVOICES_URL or "not set",
            "TIERCEL_INVOICES_URL",
        ),
        SettingRow(
            "Free trial", f"{trial:g} days" if trial else "not offered", "TIERCEL_TRIAL_DAYS"
        ),
        SettingRow("Undo an order", f"{settings.TIERCEL_REVERT_DAYS} days", "TIERCEL_REVERT_DAYS"),
        SettingRow(
            "Measured before and after",
            seconds(settings.TIERCEL_PROOF_SECONDS),
            "TIERCEL_PROOF_SECONDS",
        ),
    )
    return SettingsGroup("Selling", rows, "operators", "selling-caches")


def _sampling(now: datetime) -> SettingsGroup:
    newest = LatestSample.objects.aggregate(at=Max("at"))["at"]
    of_report = settings.TIERCEL_PROOF_SECONDS
    # Hours are compared, which five minutes make up.
    keeping = kept_for(Resolution.FIVE_MINUTES)
    is_short = keeping is not None and keeping.total_seconds() <= of_report
    short = f"Reports of orders need more than {seconds(of_report)}." if is_short else ""
    rows = (
        SettingRow(
            "A sample every", seconds(settings.TIERCEL_SAMPLE_SECONDS), "TIERCEL_SAMPLE_SECONDS"
        ),
        SettingRow("Collectors", str(settings.TIERCEL_COLLECT_SHARDS), "TIERCEL_COLLECT_SHARDS"),
        SettingRow("Last sample", _ago(newest, now)),
        *_stored(now, short),
        SettingRow("Delivered messages are kept", f"{DELIVERED_DAYS} days"),
        SettingRow("Audit trail and security log are kept", "forever"),
    )
    return SettingsGroup("Figures and retention", rows, "operators", "what-the-figures-mean")


def _stored(now: datetime, warning: str) -> list[SettingRow]:
    """What samples take on disk, for how long they are kept, and what that comes to."""
    chunks, waiting = stored_chunks(now), stored_rows()
    in_a_year = sum(each.year_bytes or 0 for each in chunks.values())
    rows = [
        SettingRow(name, _of_chunks(resolution, chunks[resolution]), variable)
        for resolution, name, variable in STORED
    ]
    rows[1] = replace(rows[1], warning=warning)
    return [
        *rows,
        SettingRow("Not packed yet", f"{size(waiting.size_bytes)}, {waiting.rows:,} rows"),
        _unreadable(),
        SettingRow(
            "Projected size in a year", f"about {size(in_a_year)}" if in_a_year else "not known yet"
        ),
    ]


def _unreadable() -> SettingRow:
    """Chunks of samples that are damaged, or of another release: a chart has a gap there."""
    noted, aside = (
        unreadable_chunks(),
        SampleChunk.objects.filter(kind__gte=UNREADABLE_CHUNK).count(),
    )
    first = next(iter(noted.items()), None)
    warning = "" if first is None else f"{first[0]}: {first[1]}."
    more = " or more" if len(noted) >= NOTED_LIMIT else ""
    said = f"{len(noted)}{more} requested in a day" if noted else "none requested in a day"
    return SettingRow("Unreadable chunks", f"{said}, {aside:,} set aside", "", warning)


def _of_chunks(resolution: Resolution, stored: StoredBytes) -> str:
    lasting = kept_for(resolution)
    kept_words = "for ever" if lasting is None else counted(lasting.days, "day")
    return f"{kept_words}: {size(stored.size_bytes)}, {stored.rows:,} chunks"


def _backup(now: datetime) -> SettingsGroup:
    made = SecurityEntry.objects.filter(kind=SecurityKind.BACKUP).first()
    command = "manage.py backup FILE"
    if made is None:
        warning = f"No backup is recorded. Run {command} every day."
    else:
        warning = f"Older than 2 days. Run {command}." if now - made.at > OLD_BACKUP else ""
    rows = (
        SettingRow("Last backup", _ago(made.at if made else None, now), "", warning),
        SettingRow("File", made.detail if made else "-"),
    )
    return SettingsGroup("Backup", rows, "production", "backup-restore-failover")


def _sign_in(now: datetime) -> SettingsGroup:
    second = "required of staff" if settings.TIERCEL_STAFF_NEED_SECOND_FACTOR else "optional"
    staff = (settings.TIERCEL_STAFF_IDLE_SECONDS, settings.TIERCEL_STAFF_SESSION_SECONDS)
    others = (settings.TIERCEL_IDLE_SECONDS, settings.TIERCEL_SESSION_SECONDS)
    keys = _set(settings.TIERCEL_HOST_KEYS_PUBLIC)
    rows = (
        SettingRow("Second factor", second, "TIERCEL_STAFF_NEED_SECOND_FACTOR"),
        SettingRow(
            "Identity check valid for",
            seconds(settings.TIERCEL_STEP_UP_SECONDS),
            "TIERCEL_STEP_UP_SECONDS",
        ),
        SettingRow("Staff are signed out", _session(*staff), "TIERCEL_STAFF_IDLE_SECONDS"),
        SettingRow("Customers are signed out", _session(*others), "TIERCEL_IDLE_SECONDS"),
        SettingRow(
            "API, requests a second",
            f"{settings.TIERCEL_API_TOKEN_RATE} a token, "
            f"{settings.TIERCEL_API_ADDRESS_RATE} an address",
            "TIERCEL_API_TOKEN_RATE",
        ),
        SettingRow("Host keys", keys, "TIERCEL_HOST_KEYS_PUBLIC"),
    )
    return SettingsGroup("Sign-in and keys", rows, "security", "access-to-the-panel")


GROUPS: Final[tuple[Callable[[datetime], SettingsGroup], ...]] = (
    _mail,
    _alerts,
    _billing,
    _sampling,
    _backup,
    _selling,
    _sign_in,
)


def _set(value: object) -> str:
    return "set" if value else "not set"


def _ago(at: datetime | None, now: datetime) -> str:
    return f"{seconds((now - at).total_seconds())} ago" if at is not None else "never"


def _session(idle: int, most: int) -> str:
    return f"after {seconds(idle)} idle, {seconds(most)} at the latest"


def _without_account(url: str) -> str:
    """An address may carry a password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
