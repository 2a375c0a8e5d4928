"""Notices to customers about lasting alerts of their volumes."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from jobs.models import Alert
from panel.deliveries.notices.notice_delivery import notify_of_alert
from panel.deliveries.notices.notice_texts import TROUBLES
from panel.models import Notice, NoticeKind

LASTED: Final = timedelta(minutes=5)
"""Customers are not notified of shorter problems."""
LATELY: Final = timedelta(days=2)


def notify_customers() -> None:
    """Write the notices that are due: that a volume has a problem and, to those notified, that it
    is resolved. Safe to repeat."""
    of_customers = Alert.objects.filter(code__in=TROUBLES, volume__customer__isnull=False)
    of_customers = of_customers.select_related("volume")
    written = Notice.objects.filter(alert=OuterRef("pk"))
    is_written = Exists(written.filter(kind=NoticeKind.WRONG))
    lasting = of_customers.filter(
        ~is_written,
        resolved_at=None,
        absent_since=None,
        opened_at__lt=Now() - LASTED,
        muted_by="",
        is_flapping=False,
    )
    for alert in lasting:
        notify_of_alert(alert, NoticeKind.WRONG)
    over = of_customers.filter(
        is_written,
        ~Exists(written.filter(kind=NoticeKind.MENDED)),
        resolved_at__gt=Now() - LATELY,
    )
    for alert in over:
        notify_of_alert(alert, NoticeKind.MENDED)
