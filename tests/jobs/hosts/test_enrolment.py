"""Enrolment: one token, one script, one report; hostile input at each door."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from datetime import timedelta
from io import StringIO
from pathlib import Path

import asyncssh
import pytest
from django.core.management import CommandError, call_command
from django.db.models.functions import Now
from django.test import Client

from jobs import transport
from jobs.hosts import enrolment
from jobs.hosts.trust import accept_fingerprint, key_fingerprint
from jobs.transport.key_encryption import unseal
from storage.agent_zipapp import build
from storage.models import Host
from storage.models.host import HostState
from storage.planner import Refused

pytestmark = pytest.mark.django_db
MACHINE_ID = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def begun() -> tuple[Host, str]:
    return enrolment.begin_enrolment("web1", "198.51.100.7")


def host_key() -> str:
    return transport.new_key_pair()[1]


def post(token: str, **fields: str) -> tuple[int, str]:
    report = {"machine_id": MACHINE_ID, "host_key": host_key(), "port": "22"} | fields
    answer = Client(enforce_csrf_checks=True).post(f"/enrol/{token}", report)
    return answer.status_code, answer.content.decode()


def test_a_line_is_printed_that_fetches_the_script() -> None:
    out, err = StringIO(), StringIO()
    url = "https://panel.example.org/"
    call_command("enrol", "web1", "198.51.100.7", public_url=url, stdout=out, stderr=err)
    line = out.getvalue().strip()
    assert line.startswith("curl -fsS https://panel.example.org/enrol/")
    assert line.endswith(" | sh")
    assert err.getvalue() == ""
    token = line.split("/enrol/")[1].split()[0]
    host = Host.objects.get(name="web1")
    assert enrolment.enrolling_host(token) == host
    assert token not in str(Host.objects.filter(pk=host.pk).values().get())
    assert unseal(bytes(host.sealed_key)).startswith(b"-----BEGIN OPENSSH PRIVATE KEY")


def test_a_line_over_plain_http_warns() -> None:
    err = StringIO()
    call_command(
        "enrol", "web1", "::1", public_url="http://10.0.2.2:8000", stdout=StringIO(), stderr=err
    )
    assert "Without https" in err.getvalue().replace("without", "Without")


@pytest.mark.parametrize(
    ("name", "address", "port", "account"),
    [
        ("", "198.51.100.7", 22, "tiercel"),
        ("web1\n", "198.51.100.7", 22, "tiercel"),
        ("../x", "198.51.100.7", 22, "tiercel"),
        ("web1", "$(reboot)", 22, "tiercel"),
        ("web1", "-oProxyCommand=x", 22, "tiercel"),
        ("web1", "198.51.100.7", 0, "tiercel"),
        ("web1", "198.51.100.7", 70000, "tiercel"),
        ("web1", "198.51.100.7", 22, "root"),
        ("web1", "198.51.100.7", 22, "x; reboot"),
        ("web1", "198.51.100.7", 22, "ALL"),
    ],
)
def test_hostile_names_and_addresses_are_refused(
    name: str, address: str, port: int, account: str
) -> None:
    with pytest.raises(Refused):
        enrolment.begin_enrolment(name, address, port, account)
    assert not Host.objects.exists()


def test_the_command_refuses_what_is_no_url() -> None:
    with pytest.raises(CommandError):
        call_command("enrol", "web1", "198.51.100.7", public_url="file:///etc/passwd")


def test_fetching_the_script_uses_nothing_up(begun: tuple[Host, str]) -> None:
    _, token = begun
    first = Client().get(f"/enrol/{token}")
    again = Client().get(f"/enrol/{token}")
    assert first.status_code == again.status_code == 200
    assert first.content == again.content
    assert first.headers["Content-Type"].startswith("text/plain")
    agent = Client().get(f"/enrol/{token}/agent.pyz").content
    assert agent == build()
    assert hashlib.sha256(agent).hexdigest() in first.content.decode()


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_script_parses_in_every_shell(begun: tuple[Host, str], shell: str) -> None:
    text = enrolment.script(*begun, "https://panel.example.org", build())
    subprocess.run([shell, "-n"], input=text, check=True, text=True)
    assert not re.search("@[A-Z_]+@", text)


def test_a_download_cut_anywhere_runs_nothing(begun: tuple[Host, str], tmp_path: Path) -> None:
    """No program is on PATH: a shell that tried one would say that it was not found."""
    text = enrolment.script(*begun, "https://panel.example.org", build())
    start, end = text.index("set -eu"), text.rindex("}")
    for cut in {*range(start, end, 211), end - 1, end}:
        ran = subprocess.run(
            ["/bin/sh"], input=text[:cut], text=True, capture_output=True, cwd=tmp_path,
            env={"PATH": str(tmp_path)}, check=False,
        )  # fmt: skip
        assert ran.returncode != 0
        assert "not found" not in ran.stderr
        assert ran.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_what_is_put_into_the_script_is_quoted(begun: tuple[Host, str], tmp_path: Path) -> None:
    host, token = begun
    host.public_key = "ssh-ed25519 AAAA'; touch owned; '$(touch owned)`touch owned`"
    text = enrolment.script(host, token, "http://x'$(touch owned)/`touch owned`", b"agent")
    settings = (
        text[text.index("set -eu") : text.index("say()")]
        + 'printf "%s\\n" "$url" "$public_key" "$match_block"'
    )
    ran = subprocess.run(
        ["/bin/sh"], input=settings, text=True, capture_output=True, cwd=tmp_path, check=True
    )
    assert ran.stdout.splitlines() == [
        f"http://x'$(touch owned)/`touch owned`/enrol/{token}",
        f"{host.public_key} tiercel-panel",
        "Match User tiercel",
        "    AuthenticationMethods publickey",
    ]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes an ordinary user")
def test_the_script_refuses_everybody_but_root(begun: tuple[Host, str], tmp_path: Path) -> None:
    text = enrolment.script(*begun, "http://127.0.0.1:1", build())
    ran = subprocess.run(
        ["/bin/sh"], input=text, text=True, capture_output=True, user=65534, check=False
    )
    assert ran.returncode == 1
    assert "run this as root" in ran.stderr


def test_a_report_waits_for_a_person_and_uses_the_token_up(begun: tuple[Host, str]) -> None:
    host, token = begun
    key = host_key()
    status, text = post(token, host_key=f"{key} root@web1", port="2222")
    assert status == 200
    assert key_fingerprint(key) in text
    host.refresh_from_db()
    assert (host.state, host.host_key, host.host_key_seen) == (HostState.UNVERIFIED, "", key)
    assert (host.machine_id, host.port) == (MACHINE_ID, 2222)
    assert post(token)[0] == 404
    assert Client().get(f"/enrol/{token}").status_code == 404
    assert Client().get(f"/enrol/{token}/agent.pyz").status_code == 404


def test_a_token_ends_after_an_hour(begun: tuple[Host, str]) -> None:
    host, token = begun
    Host.objects.update(enrol_expires_at=Now() - timedelta(seconds=1))
    assert post(token)[0] == 404
    assert Client().get(f"/enrol/{token}").status_code == 404
    host.refresh_from_db()
    assert host.state == HostState.PENDING


def test_a_new_line_ends_the_old_one(begun: tuple[Host, str]) -> None:
    host, old = begun
    again, new = enrolment.begin_enrolment("web1", "198.51.100.8")
    assert again.pk == host.pk
    assert again.public_key == host.public_key
    assert enrolment.enrolling_host(old) is None
    assert enrolment.enrolling_host(new) == again


@pytest.mark.parametrize(
    "fields",
    [
        {"host_key": "ssh-rsa AAAA"},
        {"host_key": "ssh-ed25519 AAAA"},
        {"host_key": f"{'x' * 68}"},
        {"host_key": "ssh-ed25519 " + "A" * 68},
        {"machine_id": "0123"},
        {"machine_id": "../../etc/passwd"},
        {"machine_id": "\0" * 32},
        {"port": "0"},
        {"port": "65536"},
        {"port": "-1"},
        {"port": "twenty-two"},
        {"port": "²²"},
    ],
)
def test_a_hostile_report_is_refused_and_the_token_stays(
    begun: tuple[Host, str], fields: dict[str, str]
) -> None:
    host, token = begun
    assert post(token, **fields)[0] == 409
    host.refresh_from_db()
    assert (host.state, host.host_key_seen) == (HostState.PENDING, "")
    assert post(token)[0] == 200


def test_a_key_cannot_smuggle_a_second_line(begun: tuple[Host, str]) -> None:
    host, token = begun
    key = host_key()
    assert post(token, host_key=f"{key}\n* {host_key()}")[0] == 409
    assert post(token, host_key=f"{key} a comment\n")[0] == 200
    host.refresh_from_db()
    assert host.host_key_seen == key


def test_a_report_that_is_too_large_is_not_read(begun: tuple[Host, str]) -> None:
    assert post(begun[1], host_key="x" * 9000)[0] == 413


def test_unknown_tokens_learn_nothing(begun: tuple[Host, str]) -> None:
    for token in ("x", "x" * 500, "%00", "é"):
        assert Client().get(f"/enrol/{token}").status_code == 404
        assert post(token)[0] == 404


def test_one_machine_enrols_once_and_the_second_reads_why(begun: tuple[Host, str]) -> None:
    assert post(begun[1])[0] == 200
    _, token = enrolment.begin_enrolment("web2", "198.51.100.8")
    status, text = post(token)
    assert status == 409
    assert "web1" in text
    assert "systemd-machine-id-setup" in text
    assert Host.objects.get(name="web2").state == HostState.PENDING
    assert post(token, machine_id="f" * 32)[0] == 200


def test_an_upgrade_keeps_an_active_host_active(begun: tuple[Host, str]) -> None:
    host, token = begun
    key = host_key()
    post(token, host_key=key)
    Host.objects.update(state=HostState.ACTIVE, host_key=key, host_key_seen="")
    _, token = enrolment.begin_enrolment("web1", "198.51.100.7")
    assert post(token, host_key=key)[0] == 200
    host.refresh_from_db()
    assert (host.state, host.host_key) == (HostState.ACTIVE, key)


def test_a_reinstalled_host_is_quarantined_until_its_new_key_is_accepted(
    begun: tuple[Host, str],
) -> None:
    host, token = begun
    key, new_key = host_key(), host_key()
    post(token, host_key=key)
    Host.objects.update(state=HostState.ACTIVE, host_key=key, host_key_seen="")
    _, token = enrolment.begin_enrolment("web1", "198.51.100.7")
    assert post(token, host_key=new_key, machine_id="e" * 32)[0] == 200
    host.refresh_from_db()
    assert (host.state, host.host_key, host.host_key_seen) == (
        HostState.QUARANTINED,
        key,
        new_key,
    )


@pytest.mark.parametrize("error", [{"code": "host_key_changed"}, {"code": "twins"}])
def test_a_quarantined_host_that_reports_its_pinned_key_offers_that_one(
    begun: tuple[Host, str], error: dict[str, str]
) -> None:
    host, _ = begun
    pinned = host_key()
    Host.objects.update(
        state=HostState.QUARANTINED, host_key=pinned, host_key_seen=host_key(), error=error
    )
    _, token = enrolment.begin_enrolment("web1", "198.51.100.7")
    status, text = post(token, host_key=pinned)
    assert (status, key_fingerprint(pinned) in text) == (200, True)
    host.refresh_from_db()
    assert (host.state, host.host_key_seen) == (HostState.QUARANTINED, pinned)
    accept_fingerprint(host, key_fingerprint(pinned), None)
    assert (host.state, host.host_key, host.error) == (HostState.ACTIVE, pinned, {})


def test_a_quarantined_host_that_reports_a_third_key_offers_that_one_and_stays(
    begun: tuple[Host, str],
) -> None:
    host, _ = begun
    pinned, reported = host_key(), host_key()
    Host.objects.update(state=HostState.QUARANTINED, host_key=pinned, host_key_seen=host_key())
    _, token = enrolment.begin_enrolment("web1", "198.51.100.7")
    post(token, host_key=reported)
    host.refresh_from_db()
    assert (host.state, host.host_key) == (HostState.QUARANTINED, pinned)
    assert host.host_key_seen == reported


def test_a_host_that_comes_by_another_name_is_answered_by_it(
    begun: tuple[Host, str], settings: object
) -> None:
    settings.ALLOWED_HOSTS = ["localhost", "10.0.2.2"]  # type: ignore[attr-defined]
    _, token = begun
    script = Client().get(f"/enrol/{token}", headers={"host": "10.0.2.2:8000"}).content.decode()
    assert f"url=http://10.0.2.2:8000/enrol/{token}\n" in script
    script = Client().get(f"/enrol/{token}", headers={"host": "localhost:8000"}).content.decode()
    assert f"url=http://localhost:8000/enrol/{token}\n" in script
    assert Client().get(f"/enrol/{token}", headers={"host": "evil.example"}).status_code == 400


def test_a_proxy_that_asks_by_loopback_gets_the_public_address(
    begun: tuple[Host, str], settings: object
) -> None:
    settings.TIERCEL_PUBLIC_URL = "https://panel.example.org"  # type: ignore[attr-defined]
    _, token = begun
    script = Client().get(f"/enrol/{token}", headers={"host": "127.0.0.1:8000"}).content.decode()
    assert f"url=https://panel.example.org/enrol/{token}\n" in script


@pytest.mark.parametrize("works", [True, False])
def test_the_boot_unit_is_installed_and_run_at_once(
    begun: tuple[Host, str], tmp_path: Path, works: bool
) -> None:
    """The script's own lines, with a systemctl that only writes down what it was asked."""
    text = enrolment.script(*begun, "http://127.0.0.1:1", b"agent")
    unit, asked = tmp_path / "tiercel-boot.service", tmp_path / "asked"
    timer = tmp_path / "tiercel-boot.timer"
    paths = f"boot_unit={unit}\nboot_timer={timer}"
    systemctl = tmp_path / "systemctl"
    fails = "" if works else '[ "$1" != restart ]'
    systemctl.write_text(f'#!/bin/sh\necho "$*" >>{asked}\n{fails}\n')
    systemctl.chmod(0o755)
    before_main = text[text.index("set -eu") : text.index("\nmain() {")]
    ran = subprocess.run(
        ["/bin/sh"], input=f"{before_main}\n{paths}\ninstall_boot\n", text=True,
        capture_output=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True,
    )  # fmt: skip
    assert ("warning" in ran.stdout) is not works
    lines = unit.read_text().splitlines()
    assert "ExecStart=/usr/lib/tiercel/agent.pyz boot" in lines
    assert "WantedBy=multi-user.target" in lines
    before = " ".join(line for line in lines if line.startswith("Before="))
    for guests in ("libvirtd", "libvirt-guests", "xendomains", "pve-guests"):
        assert f"{guests}.service" in before
    assert not any(line.startswith("Restart=") for line in lines), "systemd 239 refuses the unit"
    assert "OnUnitInactiveSec=2min" in timer.read_text().splitlines()
    assert asked.read_text().splitlines() == [
        "enable --quiet --no-reload tiercel-boot.service tiercel-boot.timer",
        "daemon-reload",
        "restart tiercel-boot.service",
        "restart tiercel-boot.timer",
    ]


def test_the_unit_of_heat_cleans_up_however_it_ends_and_comes_back_only_after_a_failure(
    begun: tuple[Host, str], tmp_path: Path
) -> None:
    text = enrolment.script(*begun, "http://127.0.0.1:1", b"agent")
    unit, systemctl = tmp_path / "tiercel-heat.service", tmp_path / "systemctl"
    systemctl.write_text(f'#!/bin/sh\necho "$*" >>{tmp_path}/asked\n')
    systemctl.chmod(0o755)
    before_main = text[text.index("set -eu") : text.index("\nmain() {")]
    subprocess.run(
        ["/bin/sh"], input=f"{before_main}\nheat_unit={unit}\ninstall_heat\n", text=True,
        capture_output=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True,
    )  # fmt: skip
    lines = unit.read_text().splitlines()
    assert "ExecStart=/usr/lib/tiercel/agent.pyz heat" in lines
    assert "ExecStopPost=/usr/lib/tiercel/agent.pyz clean-heat" in lines
    assert "Restart=on-failure" in lines and "After=tiercel-boot.service" in lines
    assert (tmp_path / "asked").read_text().splitlines() == [
        "enable --quiet --no-reload tiercel-heat.service",
        "daemon-reload",
        "restart tiercel-heat.service",
    ]


@pytest.mark.parametrize(
    ("first_line", "refused"),
    [
        ("systemd 239 (239-82.el8)", False),
        ("systemd 257 (257.13-1~deb13u1)", False),
        ("systemd 234 (234)", True),
        ("", True),
    ],
)
def test_a_systemd_without_what_the_operations_need_is_refused_before_anything_is_installed(
    begun: tuple[Host, str], tmp_path: Path, first_line: str, refused: bool
) -> None:
    text = enrolment.script(*begun, "http://127.0.0.1:1", b"agent")
    before_main = text[text.index("set -eu") : text.index("\nmain() {")]
    systemctl = tmp_path / "systemctl"
    systemctl.write_text(f"#!/bin/sh\necho '{first_line}'\necho '+PAM +AUDIT'\n")
    systemctl.chmod(0o755)
    ran = subprocess.run(
        ["/bin/sh"], input=f"{before_main}\ncheck_systemd\n", text=True,
        capture_output=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
    )  # fmt: skip
    assert (ran.returncode != 0) is refused
    assert ("too old" in ran.stderr) is refused


def test_the_panels_key_for_a_host_is_made_anew_only_when_asked() -> None:
    first, _ = enrolment.begin_enrolment("web1", "198.51.100.7")
    same, _ = enrolment.begin_enrolment("web1", "198.51.100.7")
    assert (same.public_key, bytes(same.sealed_key)) == (first.public_key, bytes(first.sealed_key))
    call_command("enrol", "web1", "198.51.100.7", new_key=True, stdout=StringIO())
    same.refresh_from_db()
    assert same.public_key != first.public_key
    key = asyncssh.import_private_key(unseal(bytes(same.sealed_key)))
    assert same.public_key.split()[1] == key.export_public_key().decode().split()[1]
