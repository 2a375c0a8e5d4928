"""Links to screens: made, found by their secret, and over."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from panel.models import KioskLink, SecurityEntry
from panel.staff.kiosk.kiosk_links import link_of, make_link, note_seen, revoke_link
from storage import row_security
from tests import make

pytestmark = pytest.mark.django_db


def secret_of(address: str) -> str:
    return address.rstrip("/").rpartition("/")[2]


def test_the_database_keeps_the_digest_alone_and_finds_the_link_by_its_secret() -> None:
    link, address = make_link("Office", make.staff_user())
    secret = secret_of(address)
    assert address.startswith("http") and len(secret) >= 40
    assert secret not in str(KioskLink.objects.values().get())
    assert link_of(secret) == link
    assert link_of(link.digest) is None
    assert link_of("") is None


def test_a_link_ends_by_itself_or_when_it_is_revoked() -> None:
    by = make.staff_user()
    link, address = make_link("Office", by, days=30)
    secret = secret_of(address)
    KioskLink.objects.update(expires_at=timezone.now())
    assert link_of(secret) is None
    KioskLink.objects.update(expires_at=timezone.now() + timedelta(days=1))
    assert link_of(secret) == link
    revoke_link(link, by)
    assert link_of(secret) is None


def test_the_security_log_says_who_made_and_revoked_which_link_and_no_secret() -> None:
    by = make.staff_user("ann@example.org")
    link, address = make_link("Office", by, site="Helsinki 1", shows_names=True)
    revoke_link(link, by)
    entries = list(SecurityEntry.objects.filter(kind="kiosk_link").order_by("id"))
    assert [entry.detail for entry in entries] == [
        "made Office: the hosts of Helsinki 1, names of volumes",
        "revoked Office",
    ]
    assert {entry.actor for entry in entries} == {"ann@example.org"}
    assert all(secret_of(address) not in entry.detail for entry in entries)


def test_its_last_use_is_written_once_a_minute() -> None:
    link, _ = make_link("Office", make.staff_user())
    at = timezone.now()
    for seconds, written in ((0, 0), (30, 0), (61, 61)):
        note_seen(link, at + timedelta(seconds=seconds))
        link.refresh_from_db()
        assert link.last_seen_at == at + timedelta(seconds=written)


def test_links_are_for_admins_and_not_for_people_under_row_security() -> None:
    make_link("Office", make.staff_user())
    for role, seen in (("admin", 1), ("operator", 0), ("read_only", 0)):
        assert KioskLink.objects.visible_to(make.staff_user(staff_role=role)).count() == seen
    with row_security.scope(row_security.NO_ROWS):
        assert not KioskLink.objects.exists()
