"""Every door leaves its person in the history of the records it changes, and pages show it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pghistory
import pytest
from django.test import Client
from django.urls import reverse

from jobs.engine import operation, runner
from jobs.hosts import enrolment
from jobs.hosts.trust import key_fingerprint
from jobs.models import State
from jobs.queue.submit import ChangeRequest, submit
from jobs.requester import Requester
from panel.staff.change_log import edits
from storage.models import Host
from tests import make
from tests.jobs.agent import WISH, TaggingAgent
from tests.jobs.conftest import sshd as sshd
from tests.jobs.sshd import Sshd
from tests.panel.api.asking import staff
from tests.proven import sign_in
from tests.scene import HOST_KEY, HOSTILE, scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(client: Client) -> Client:
    return sign_in(client, make.staff_user("ada@example.org"))


def accepted(client: Client) -> Host:
    """A host whose fingerprint was accepted on its page."""
    host = make.host(state="unverified", host_key="", host_key_seen=HOST_KEY)
    url = reverse("host-accept", args=[host.key])
    client.post(url, {"fingerprint": key_fingerprint(HOST_KEY)}, REMOTE_ADDR="203.0.113.9")
    host.refresh_from_db()
    return host


def test_a_page_leaves_its_person_with_address_and_route(ada: Client) -> None:
    host = accepted(ada)
    edit = edits(host)[0]
    assert (edit.who, edit.how) == ("ada@example.org", "")
    assert "state" in {change.field for change in edit.changes}
    event: Any = host.events.order_by("-pgh_id").first()  # type: ignore[attr-defined]
    assert event.pgh_context["address"] == "203.0.113.9"
    assert event.pgh_context["route"] == "host-accept"


def test_no_one_time_token_of_an_address_is_kept(client: Client) -> None:
    host, token = enrolment.begin_enrolment("enrolling", "198.51.100.7")
    client.get(reverse("enrol-script", args=[token]))
    report = {"host_key": HOST_KEY, "machine_id": "a" * 32, "port": "22"}
    client.post(reverse("enrol-script", args=[token]), report)
    host.refresh_from_db()
    assert host.state == "unverified"
    for event in host.events.all():  # type: ignore[attr-defined]
        assert token not in str(event.__dict__)


def test_the_api_leaves_its_person_and_the_token() -> None:
    there, asking = scene(), staff()
    path = f"/volumes/{there.volume.key}"
    assert asking.send("patch", path, {"label": "renamed"}).status_code == 200
    there.volume.refresh_from_db()
    edit = edits(there.volume)[0]
    assert edit.who == asking.user.email
    key = asking.text.removeprefix("tcl_").split(".")[0]
    assert edit.how == f"API token {key}"
    assert [change.after for change in edit.changes] == ["renamed"]


def test_a_job_leaves_who_asked_for_it_and_its_key(
    sshd: Callable[..., Sshd], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operation, "POLL_SECONDS", (0.01, 0.02))
    agent = TaggingAgent()
    volume = make.volume()
    make.placement(volume, sshd(agent).host(), lv_name=agent.lv.name, lv_uuid=agent.lv.uuid)
    person = make.staff_user("ada@example.org")
    job = submit(ChangeRequest("tag-volume", volume, WISH), Requester(person))
    runner.run(job.pk)
    job.refresh_from_db()
    assert job.state == State.SUCCEEDED
    volume.refresh_from_db()
    edit = edits(volume)[0]
    assert (edit.who, edit.how) == ("ada@example.org", f"job {job.key}")
    assert "state" in {change.field for change in edit.changes}


@pytest.mark.django_db(transaction=True)
def test_one_request_does_not_sign_for_the_next(ada: Client) -> None:
    accepted(ada)
    volume = make.volume()
    volume.label = "without a person"
    volume.save()
    assert edits(volume)[0].who == "Tiercel"


def test_the_pages_show_the_history_and_escape_it(ada: Client) -> None:
    there = scene()
    with pghistory.context(actor=HOSTILE):
        there.volume.label = HOSTILE
        there.volume.save()
        there.host.name = "renamed"
        there.host.save()
    for name, key in (("volume-details", there.volume.key), ("host-settings", there.host.key)):
        text = ada.get(reverse(name, args=[key])).content.decode()
        assert ">History<" in text
        assert "→" in text
        assert HOSTILE not in text
