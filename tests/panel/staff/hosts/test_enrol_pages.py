"""Adding a host by the browser: from its name to what is on its disks, and its jobs on its page."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from jobs.hosts import enrolment
from jobs.hosts.trust import key_fingerprint
from jobs.models import State
from storage.inventory.volume_parts import VolumeUser
from storage.models import Host
from tests import make
from tests.panel.deliveries.alerts.alert_messages import mail_route
from tests.proven import sign_in
from tests.scene import HOST_KEY, OTHER_HOST_KEY, end, job, scene

pytestmark = pytest.mark.django_db
MACHINE_ID = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def admin(client: Client) -> Client:
    return sign_in(client, make.staff_user())


def ask(client: Client, **data: str) -> Any:
    return client.post(reverse("host-new"), {"name": "node7", "address": "192.0.2.7", **data})


def page(client: Client, host: Host, name: str = "host-enrol") -> str:
    response = client.get(reverse(name, args=[host.key]))
    assert response.status_code == 200
    return response.content.decode()


def token_in(text: str) -> str:
    return text.split("/enrol/")[1].split(" ")[0]


def added(client: Client) -> Host:
    ask(client)
    return Host.objects.get(name="node7")


def test_a_name_and_an_address_give_a_line_to_paste(admin: Client) -> None:
    response = ask(admin)
    host = Host.objects.get()
    assert response["Location"] == reverse("host-enrol", args=[host.key])
    assert (host.name, host.address, host.port, host.account) == (
        "node7", "192.0.2.7", 22, "tiercel",
    )  # fmt: skip
    text = page(admin, host)
    assert enrolment.enrolling_host(token_in(text)) == host
    assert 'data-copy="enrol-line"' in text
    assert "waiting for the host" in text


def test_another_port_and_account_are_taken(admin: Client) -> None:
    ask(admin, port="2222", account="storage")
    host = Host.objects.get()
    assert (host.port, host.account) == (2222, "storage")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"name": "../x"}, "cannot be a host&#x27;s name"),
        ({"address": "-oProxyCommand=x"}, "neither a host name nor an IP address"),
        ({"port": "70000"}, "70000 is no TCP port"),
        ({"port": "0"}, "0 is no TCP port"),
        ({"port": "ssh"}, "Enter a whole number"),
        ({"account": "root"}, "cannot be the panel&#x27;s account"),
        ({"name": ""}, "This field is required"),
    ],
)
def test_what_cannot_be_a_host_is_refused_at_its_field(
    admin: Client, data: dict[str, str], words: str
) -> None:
    response = ask(admin, **data)
    assert response.status_code == 422
    assert response.content.decode().count(words) == 1
    assert not Host.objects.exists()


def test_a_host_that_is_enrolled_keeps_its_address(admin: Client) -> None:
    host = make.host(name="node7", address="192.0.2.1")
    response = ask(admin)
    assert response.status_code == 422
    assert "already enrolled" in response.content.decode()
    host.refresh_from_db()
    assert host.address == "192.0.2.1"


def test_a_host_that_never_came_may_be_named_again(admin: Client) -> None:
    host = added(admin)
    ask(admin, address="192.0.2.8")
    host.refresh_from_db()
    assert host.address == "192.0.2.8"


def test_a_host_that_is_named_again_keeps_its_port_and_account(admin: Client) -> None:
    ask(admin, port="2201", account="storage")
    ask(admin, address="192.0.2.8")
    host = Host.objects.get()
    assert (host.address, host.port, host.account) == ("192.0.2.8", 2201, "storage")
    ask(admin, port="22", account="tiercel")
    host.refresh_from_db()
    assert (host.port, host.account) == (22, "tiercel")


@pytest.mark.parametrize(("given", "port"), [("22", 22), ("", 2222)])
def test_a_new_line_of_the_page_does_not_forget_whether_the_port_was_given(
    admin: Client, given: str, port: int
) -> None:
    ask(admin, port=given)
    host = Host.objects.get()
    admin.post(reverse("host-enrol", args=[host.key]))
    enrolment.report_host(token_in(page(admin, host)), MACHINE_ID, HOST_KEY, 2222)
    host.refresh_from_db()
    assert host.port == port


def test_the_page_with_the_line_may_be_loaded_again_and_the_database_lacks_the_token(
    admin: Client,
) -> None:
    host = added(admin)
    token = token_in(page(admin, host))
    assert token_in(page(admin, host)) == token
    assert token not in str(Host.objects.filter(pk=host.pk).values().get())
    assert admin.get(reverse("host-enrol", args=[host.key]))["Cache-Control"].count("no-store")


def test_a_new_line_makes_the_old_one_void(admin: Client) -> None:
    host = added(admin)
    old = token_in(page(admin, host))
    admin.post(reverse("host-enrol", args=[host.key]))
    assert enrolment.enrolling_host(old) is None
    assert enrolment.enrolling_host(token_in(page(admin, host))) == host


def test_a_line_that_was_not_used_in_time_is_offered_anew(admin: Client) -> None:
    host = added(admin)
    Host.objects.update(enrol_expires_at=F("enrol_expires_at") - timedelta(hours=2))
    text = page(admin, host)
    assert "/enrol/" not in text.replace(reverse("host-enrol", args=[host.key]), "")
    assert "Create a new command" in text


def test_a_line_of_another_secret_key_is_not_shown(admin: Client) -> None:
    host = added(admin)
    with override_settings(SECRET_KEY="another", SECRET_KEY_FALLBACKS=[]):
        assert enrolment.waiting_token(Host.objects.get(pk=host.pk)) is None


def test_over_plain_http_the_page_warns(admin: Client) -> None:
    host = added(admin)
    with override_settings(TIERCEL_PUBLIC_URL="http://10.0.2.2:8000"):
        assert "without HTTPS" in page(admin, host)
    with override_settings(TIERCEL_PUBLIC_URL="https://panel.example.org"):
        text = page(admin, host)
        assert "without HTTPS" not in text
        assert "curl -fsS https://panel.example.org/enrol/" in text


def test_the_reported_fingerprint_is_shown_to_compare_and_accepting_stays_on_the_page(
    admin: Client,
) -> None:
    host = added(admin)
    enrolment.report_host(token_in(page(admin, host)), MACHINE_ID, HOST_KEY, 22)
    text = page(admin, host)
    assert "waiting for you" in text
    assert key_fingerprint(HOST_KEY) in text
    assert "ssh-keygen -lf" in text
    response = admin.post(
        reverse("host-accept", args=[host.key]),
        {"fingerprint": key_fingerprint(HOST_KEY), "arriving": "1"},
    )
    assert response["Location"] == reverse("host-enrol", args=[host.key])
    text = page(admin, host)
    assert "checking" in text
    assert "waiting for you" not in text


def test_a_host_that_shows_another_key_is_compared_with_the_accepted_one(admin: Client) -> None:
    host = make.host(state="quarantined", host_key=HOST_KEY, host_key_seen=OTHER_HOST_KEY)
    text = page(admin, host)
    assert key_fingerprint(HOST_KEY) in text
    assert key_fingerprint(OTHER_HOST_KEY) in text
    assert "different key" in text


@pytest.mark.parametrize("name", ["host", "host-enrol"])
def test_a_quarantined_host_may_come_back_by_the_key_accepted_before(
    admin: Client, name: str
) -> None:
    host = make.host(state="quarantined", host_key=HOST_KEY, host_key_seen=OTHER_HOST_KEY)
    text = page(admin, host, name)
    before, seen = key_fingerprint(HOST_KEY), key_fingerprint(OTHER_HOST_KEY)
    assert f"Accepted before</dt><dd><code>{before}<" in text
    assert f"Seen last</dt><dd><code>{seen}<" in text
    assert "ssh-keygen -lf" in text
    parts = text.split(reverse("host-accept", args=[host.key]))[1:]
    forms = [part.split("</form>")[0] for part in parts]
    assert [(before in form, seen in form) for form in forms] == [(True, False), (False, True)]
    assert "The console shows the accepted key: accept again" in forms[0]
    assert "The console shows the new key: accept" in forms[1]
    admin.post(reverse("host-accept", args=[host.key]), {"fingerprint": before})
    host.refresh_from_db()
    assert (host.state, host.host_key, host.host_key_seen) == ("active", HOST_KEY, "")


@pytest.mark.parametrize("name", ["host", "host-enrol"])
def test_a_key_that_was_reported_as_accepted_is_offered_once(admin: Client, name: str) -> None:
    host = make.host(state="quarantined", host_key=HOST_KEY, host_key_seen=HOST_KEY)
    text = page(admin, host, name)
    assert text.count(reverse("host-accept", args=[host.key])) == 1
    assert "Seen last" not in text
    assert "also reported this fingerprint" in text


def test_a_host_that_does_not_answer_says_why_and_what_to_do(admin: Client) -> None:
    error = {"code": "unreachable", "message": "no route to it", "correction": "Open port 22."}
    text = page(admin, make.host(error=error))
    for words in ("no answer", "no route to it", "Open port 22."):
        assert words in text


def test_what_was_found_ends_the_waiting(admin: Client) -> None:
    used = make.lv(users=(VolumeUser("qemu", "web12", "vda", 7),))
    problem = {
        "code": "x",
        "severity": "warning",
        "message": "lvm is old",
        "correction": "Upgrade.",
    }
    there = scene(
        used,
        more_lvs=(make.lv("cached", cache=make.dm_cache("theirs")),),
        managed=False,
        vgs=(make.vg(allowed=False),),
        disks=(make.disk("sda", rotational=False), make.disk("sdc")),
        host={"hello_at": timezone.now(), "problems": [problem]},
    )
    text = page(admin, there.host)
    for words in ("is ready", "lvm is old", "agent.pyz allow-vg vg0", "observe-only"):
        assert words in text, words
    numbers = text.split("<dl")[-1].split("</dl>")[0]
    for pair in ('Disks</dt><dd><span class="num">2<', 'Volumes</dt><dd class="num">2<',
                 'cached</dt><dd class="num">1<', 'host</dt><dd class="num">1<'):  # fmt: skip
        assert pair in numbers, pair
    assert "every 2s" not in text
    assert "http-equiv" not in text


def test_an_enrolled_host_without_a_recipient_asks_for_one(admin: Client) -> None:
    host = scene(host={"hello_at": timezone.now()}).host
    text = page(admin, host)
    assert "No recipient is notified at once when this host has an error." in text
    mail_route("ben@example.org")
    assert "No recipient is notified at once" not in page(admin, host)


def test_a_page_that_waits_renews_itself_with_and_without_javascript(admin: Client) -> None:
    text = page(admin, added(admin))
    assert 'hx-trigger="every 2s"' in text
    assert '<noscript><meta http-equiv="refresh"' in text


def test_an_enrolled_host_gets_a_line_to_upgrade_its_agent(admin: Client) -> None:
    there = scene(host={"hello_at": timezone.now()})
    admin.post(reverse("host-enrol", args=[there.host.key]))
    text = page(admin, there.host)
    assert enrolment.enrolling_host(token_in(text)) == there.host
    there.host.refresh_from_db()
    assert there.host.state == "active"


def test_only_an_admin_sees_a_line(client: Client) -> None:
    client.force_login(make.staff_user(staff_role="operator"))
    host, _ = enrolment.begin_enrolment("node7", "192.0.2.7")
    assert client.get(reverse("host-enrol", args=[host.key])).status_code == 403


def test_a_hosts_jobs_are_those_that_go_on_and_the_last_that_ended(admin: Client) -> None:
    there = scene()
    for _ in range(22):
        end(job(there), State.SUCCEEDED)
    running = job(there)
    elsewhere = job(scene(label="elsewhere"))
    text = page(admin, there.host, "host-jobs").split('id="host-jobs"')[1]
    assert running.key in text
    assert text.count('class="list-group-item job-row"') == 20
    assert elsewhere.key not in text


def test_a_host_without_jobs_says_so(admin: Client) -> None:
    assert "No jobs on this host yet" in page(admin, scene().host, "host-jobs")
