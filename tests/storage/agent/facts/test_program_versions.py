"""Which versions may be used, which were tried, and what is said of the others."""

from __future__ import annotations

import pytest

from storage.agent.facts import program_versions
from storage.agent.facts.hello import hello
from tests.contract.client import Agent
from tests.fake import FakeHost

CODES = {f"{program}_old" for program in program_versions.PROGRAMS} | {"untried_versions"}

# Kernel, LVM, systemd and util-linux as the releases have them.
RHEL_8 = ("4.18.0-553.el8_10.x86_64", "2.03.14", "239", "2.32.1")
RHEL_9 = ("5.14.0-503.el9.x86_64", "2.03.24", "252", "2.37.4")
UBUNTU_20 = ("5.4.0-200-generic", "2.03.07", "245", "2.34")
DEBIANS = (
    ("5.10.0-46-amd64", "2.03.11", "247", "2.36.1"),
    ("6.1.0-37-amd64", "2.03.16", "252", "2.38.1"),
    ("6.12.117+deb13-amd64", "2.03.31", "257", "2.41.5"),
)


def has(host: FakeHost, release: tuple[str, str, str, str]) -> None:
    with host.changing() as machine:
        machine.kernel, lvm, systemd, util_linux = release
        machine.versions = {"lvm": lvm, "systemd": systemd, "util_linux": util_linux}


def reported(host: FakeHost) -> dict[str, dict[str, str]]:
    return {each["code"]: each for each in hello(host)["problems"] if each["code"] in CODES}


@pytest.mark.parametrize("release", DEBIANS)
def test_the_releases_that_the_lab_boots_are_nothing_to_speak_of(
    host: FakeHost, monkeypatch: pytest.MonkeyPatch, release: tuple[str, str, str, str]
) -> None:
    monkeypatch.setattr(program_versions.platform, "python_version", lambda: "3.11.2")
    has(host, release)
    assert reported(host) == {}
    document = hello(host)
    assert (document["lvm2"], document["systemd"], document["util_linux"]) == release[1:]


@pytest.mark.parametrize("release", [RHEL_8, RHEL_9, UBUNTU_20])
def test_what_was_never_tried_is_said_and_no_obstacle(
    host: FakeHost, agent: Agent, release: tuple[str, str, str, str]
) -> None:
    has(host, release)
    (problem,) = reported(host).values()
    assert (problem["code"], problem["severity"]) == ("untried_versions", "info")
    assert f"LVM {release[1]}" in problem["message"]
    assert f"Kernel {release[0]}" in problem["message"]
    agent.volume()


@pytest.mark.parametrize(
    ("program", "version", "words"),
    [
        ("lvm", "2.02.187", "LVM 2.02.187 is older than 2.03: "),
        ("systemd", "229", "systemd 229 is older than 236: "),
        ("util_linux", "2.27.1", "util-linux 2.27.1 is older than 2.32: "),
    ],
)
def test_what_is_too_old_is_an_error_with_the_reason(
    host: FakeHost, program: str, version: str, words: str
) -> None:
    with host.changing() as machine:
        machine.versions[program] = version
    problem = reported(host)[f"{program}_old"]
    assert problem["severity"] == "error" and problem["message"].startswith(words)
    assert "supported release" in problem["correction"]


@pytest.mark.parametrize("version", ["2.02.187", ""])
def test_an_lvm_that_is_too_old_or_unknown_changes_nothing(
    host: FakeHost, agent: Agent, version: str
) -> None:
    host.machine.versions["lvm"] = version
    args, expect = agent.call("volume.create", agent.volume_args())
    (step,) = agent.preview(("volume.create", args, expect))
    with agent.unchanged():
        error = agent.ask("volume.create", args, expect)["error"]
    assert error["code"] == step["error"]["code"] == "unsupported"
    assert error["message"] == step["error"]["message"]
    assert ("2.02.187 is older" if version else "does not say its version") in error["message"]


def test_no_kernel_is_too_old_for_the_agent(host: FakeHost, agent: Agent) -> None:
    """Which kernels have which faults is judged once, by the panel."""
    volume = agent.volume()
    with host.changing() as machine:
        machine.kernel = "4.4.0-210-generic"
    assert "kernel_old" not in reported(host)
    agent.pool(volume)


def test_the_inventory_says_which_kernel_runs(host: FakeHost, agent: Agent) -> None:
    with host.changing() as machine:
        machine.kernel, machine.kernel_version = "5.15.0-91-generic", "#101-Ubuntu SMP"
        machine.kernel_signature = "Ubuntu 5.15.0-91.101-generic 5.15.131"
    assert agent.inventory()["kernel"] == {
        "release": "5.15.0-91-generic",
        "version": "#101-Ubuntu SMP",
        "signature": "Ubuntu 5.15.0-91.101-generic 5.15.131",
    }


def test_an_lvm_that_does_not_answer_just_now_is_no_old_one(host: FakeHost, agent: Agent) -> None:
    args, expect = agent.call("volume.create", agent.volume_args())
    run = host.run

    def slow(argv: tuple[str, ...], **more: object) -> object:
        if tuple(argv) == ("lvm", "version"):
            host.slow_next("lvm", 60.0)
        return run(argv, **more)  # type: ignore[arg-type]

    host.run = slow  # type: ignore[assignment,method-assign]
    assert agent.ask("volume.create", args, expect)["error"]["code"] == "timeout"


@pytest.mark.parametrize(
    ("version", "lacks"),
    [("2.03.07", True), ("2.03.11", True), ("2.03.12", False), ("2.03.31", False), ("", True)],
)
def test_a_cached_volume_can_be_extended_since_2_03_12(version: str, lacks: bool) -> None:
    reason = program_versions.missing_feature("extend_cached", version)
    assert (reason is not None) is lacks
    assert reason is None or "2.03.12" in reason


@pytest.mark.parametrize(
    ("version", "parsed"),
    [("2.03.16", (2, 3, 16)), ("6.1.0-37-amd64", (6, 1, 0)), ("257", (257,)), ("unknown", ())],
)
def test_a_version_is_its_leading_numbers(version: str, parsed: tuple[int, ...]) -> None:
    assert program_versions.parse_version(version) == parsed


def test_bcache_tools_are_asked_of_the_package_manager(host: FakeHost) -> None:
    assert hello(host)["bcache_tools"] == "1.0.8-4+b1"
    with host.changing() as machine:
        machine.missing_tools.add("make-bcache")
    assert hello(host)["bcache_tools"] is None
