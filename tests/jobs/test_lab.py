"""A real host from the pasted line to a volume: real sshd, sudo, systemd, LVM. Caches on it are
in tests/integration/test_lab.py."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from io import StringIO

import pytest
from django.core.management import call_command
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from jobs import transport
from jobs.collector import collect
from jobs.engine import runner
from jobs.hosts import contact
from jobs.hosts.refresh import refresh
from jobs.hosts.trust import accept_fingerprint
from jobs.models import Job, Kind, State
from jobs.queue.submit import ChangeRequest, submit
from jobs.requester import Requester
from jobs.transport.errors import SudoTty, TotpDemanded
from storage.byte_sizes import MIB
from storage.models import (
    Host,
    HostChange,
    LatestDeviceSample,
    LatestSample,
    Placement,
    Sample,
    Volume,
)
from storage.naming import volume_name
from storage.planner.wish import Wish
from tests import make
from tests.contract.lab_world import LabWorld
from tests.lab.vm import Lab

pytestmark = [
    pytest.mark.lab,
    pytest.mark.xdist_group("lab"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(900),
]
SIZE = 64 * MIB
LINE_SECONDS = 120
MORE_METHODS = """
KbdInteractiveAuthentication yes
AuthenticationMethods publickey,keyboard-interactive
"""


@pytest.fixture(scope="module")
def machine(lab_world: LabWorld) -> Iterator[Lab]:
    with lab_world.bare() as bare:
        yield bare


@pytest.fixture
def paste(machine: Lab, live_server: LiveServer, settings: Settings) -> Callable[[], str]:
    """Print the enrolment command, run it on the host as root, return what it says."""
    settings.ALLOWED_HOSTS = ["*"]
    settings.TIERCEL_SAMPLE_SECONDS = 10
    port = live_server.url.rsplit(":", 1)[1]

    def enrol_and_run() -> str:
        out = StringIO()
        url = f"http://{machine.panel_address}:{port}"
        call_command(
            "enrol", "lab1", "127.0.0.1", port=machine.ssh_port, public_url=url,
            stdout=out, stderr=StringIO(),
        )  # fmt: skip
        ran = machine.run(out.getvalue().strip(), timeout_seconds=LINE_SECONDS)
        return ran.stdout

    return enrol_and_run


@pytest.fixture
def host(machine: Lab, paste: Callable[[], str]) -> Host:
    """The lab, enrolled, accepted by the fingerprint of its own key file."""
    assert machine.keys.host_fingerprint in paste()
    found = Host.objects.get()
    assert found.state == "unverified"
    accept_fingerprint(found, machine.keys.host_fingerprint, None)
    return found


def new_volume(host: Host) -> Volume:
    volume = make.volume(size_bytes=SIZE)
    host.refresh_from_db()
    assert host.inventory is not None
    vg = next(vg for vg in host.inventory.vgs if vg.name == "vg0")
    Placement.objects.create(
        volume=volume, host=host, vg_name=vg.name, vg_uuid=vg.uuid,
        lv_name=volume_name(volume.key),
    )  # fmt: skip
    return volume


def done(kind: Kind, volume: Volume, wish: Wish) -> Job:
    job = submit(ChangeRequest(kind, volume, wish), Requester(None))
    deadline = time.monotonic() + 300
    while not job.is_over and time.monotonic() < deadline:
        Job.objects.filter(pk=job.pk).update(not_before=None)
        runner.run(job.pk)
        job.refresh_from_db()
    return job


@pytest.mark.thorough
def test_a_host_from_the_pasted_line_to_a_sampled_volume(
    machine: Lab, host: Host, paste: Callable[[], str]
) -> None:
    assert refresh(host), Host.objects.get().error
    host.refresh_from_db()
    assert "observe_only" in [problem["code"] for problem in host.problems]
    assert machine.run("id -u tiercel && sudo -l -U tiercel").stdout.count("agent.pyz") == 1

    volume = new_volume(host)
    refused = done(Kind.CREATE_VOLUME, volume, Wish(SIZE))
    assert (refused.state, refused.error["code"]) == (State.FAILED, "observe_only")
    machine.run(["/usr/lib/tiercel/agent.pyz", "allow-vg", "vg0"])
    assert "policy /etc/tiercel/agent.json kept" in paste()
    host.refresh_from_db()
    assert host.state == "active"

    made = done(Kind.CREATE_VOLUME, volume, Wish(SIZE))
    assert (made.state, made.error) == (State.SUCCEEDED, {})
    machine.run(["test", "-b", f"/dev/vg0/{volume_name(volume.key)}"])
    assert collect(0).sampled == 1
    assert collect(0).sampled == 1
    assert LatestSample.objects.filter(volume=volume).exists()


@pytest.mark.thorough
def test_a_restart_is_one_row_of_the_time_line_and_no_spike(machine: Lab, host: Host) -> None:
    machine.run(["/usr/lib/tiercel/agent.pyz", "allow-vg", "vg0"])
    assert refresh(host), Host.objects.get().error
    volume = new_volume(host)
    assert done(Kind.CREATE_VOLUME, volume, Wish(SIZE)).state == State.SUCCEEDED
    assert collect(0).sampled == collect(0).sampled == 1
    kernel = Host.objects.get().hello["kernel"]
    machine.power_cycle()
    deadline = time.monotonic() + LINE_SECONDS
    while not refresh(host) and time.monotonic() < deadline:
        time.sleep(1)
    assert refresh(host), Host.objects.get().error
    (change,) = HostChange.objects.all()
    assert (change.kind, change.count) == ("boot", 1)
    assert change.after.startswith(kernel)
    assert collect(0).sampled == 1
    assert LatestSample.objects.get(volume=volume).gap == "rebooted"
    before = Sample.objects.filter(volume=volume).count()
    assert collect(0).sampled == 1
    after = Sample.objects.filter(volume=volume).order_by("ts")[before:]
    devices = LatestDeviceSample.objects.filter(device__host=host, device__gone_at=None)
    assert {each.device.kind for each in devices} >= {"disk", "array"}
    assert {each.gap for each in devices} <= {"", "first"}
    assert all((each.reads or 0) < 10_000 for each in devices)
    # An idle volume: counters of before the restart would be negative, or thousands.
    assert [(each.reads < 1000, each.writes < 1000) for each in after] == [(True, True)] * len(
        after
    )


@pytest.mark.thorough
def test_a_demand_for_a_code_is_met_by_the_lines_that_the_error_shows(
    machine: Lab, host: Host, paste: Callable[[], str]
) -> None:
    assert transport.call(host, "hello").ok
    config = "/etc/ssh/sshd_config.d/00-totp.conf"
    try:
        machine.shell.write(config, MORE_METHODS.encode(), 0o644)
        machine.run("systemctl restart ssh; kill $(pgrep -u tiercel '^sshd')")
        with pytest.raises(TotpDemanded) as caught:
            contact.ask(host, "hello")
        block = caught.value.correction.partition("\nAdd these")[0]
        assert block in paste()
        machine.shell.write("/tmp/block", f"\n{block}\n".encode(), 0o644)
        machine.run("cp /etc/ssh/sshd_config /tmp/before; cat /tmp/block >>/etc/ssh/sshd_config")
        machine.run("systemctl restart ssh")
        assert contact.ask(host, "hello").ok
    finally:
        machine.run(f"rm -f {config}; cp /tmp/before /etc/ssh/sshd_config; systemctl restart ssh")


@pytest.mark.thorough
def test_sudo_that_wants_a_terminal_is_named(machine: Lab, host: Host) -> None:
    rule = "/etc/sudoers.d/zz-tty"
    try:
        machine.shell.write(rule, b"Defaults:tiercel requiretty\n", 0o440)
        with pytest.raises(SudoTty) as caught:
            contact.ask(host, "hello")
        assert "Defaults:tiercel !requiretty" in caught.value.correction
    finally:
        machine.run(["rm", "-f", rule])
    assert contact.ask(host, "hello").ok


@pytest.mark.thorough
def test_a_second_line_for_the_same_machine_is_refused_with_the_reason(
    machine: Lab, host: Host, live_server: LiveServer
) -> None:
    out = StringIO()
    url = f"http://{machine.panel_address}:{live_server.url.rsplit(':', 1)[1]}"
    call_command("enrol", "lab2", "127.0.0.1", public_url=url, stdout=out, stderr=StringIO())
    ran = machine.run(out.getvalue().strip(), timeout_seconds=LINE_SECONDS, check=False)
    assert ran.returncode != 0
    assert "enrolled already, as lab1" in ran.stderr


@pytest.mark.thorough
def test_ordinary_users_of_the_host_cannot_use_the_account(machine: Lab, host: Host) -> None:
    asked = machine.run("su -s /bin/sh tiercel -c 'sudo -n /usr/bin/id'", check=False)
    assert asked.returncode != 0
    allow = machine.run(
        "su -s /bin/sh tiercel -c 'sudo -n /usr/lib/tiercel/agent.pyz allow-vg vg0'", check=False
    )
    assert allow.returncode != 0
    keys = "~tiercel/.ssh/authorized_keys"
    written = machine.run(f"su -s /bin/sh tiercel -c 'echo x >> {keys}'", check=False)
    assert written.returncode != 0
    assert "restrict,command=" in machine.run(f"cat {keys}").stdout
