import os
from pathlib import Path

import pytest

from storage.agent.kernel import transient_units
from storage.agent.kernel.local_host import CommandResult, MissingTool, TimedOut
from storage.agent.kernel.tools import Runner

OP = "4b1d2ad6-6ad5-4c3b-8f0e-2f1f9a54a001"


class Systemd(Runner):
    """Takes a process in at once: its control group is a file."""

    def __init__(self, folder: Path, answer: CommandResult | Exception) -> None:
        super().__init__(folder)
        self.answer = answer
        self.cgroup = folder / "cgroup"
        self.cgroup.write_text("0::/user.slice\n")
        self.asked = folder / "asked"

    def run(self, argv, timeout, tick=None, stop=None):  # type: ignore[no-untyped-def]
        if isinstance(self.answer, Exception):
            raise self.answer
        self.asked.write_text("\n".join(argv))
        if self.answer.rc == 0:
            self.cgroup.write_text(f"0::/system.slice/{transient_units.name(OP)}\n")
        return self.answer


def test_a_scope_is_stopped_by_sigint_and_never_killed() -> None:
    words = " ".join(transient_units.scope_argv(OP, 4711))
    assert "KillSignal i 2 " in words
    assert "SendSIGKILL b false " in words
    assert "TimeoutStopUSec t 18446744073709551615 " in words
    assert "PIDs au 1 4711 " in words
    assert "IOWeight t 10 " in words


def test_the_number_of_properties_is_that_of_the_call() -> None:
    words = transient_units.scope_argv(OP, 4711)
    at = words.index("fail") + 1
    signatures = [word for word in words[at + 1 :] if word in ("s", "as", "au", "i", "b", "t")]
    assert int(words[at]) == len(signatures)
    assert words[-1] == "0"


def test_what_a_killed_operation_left_throttled_is_put_back_by_systemd(tmp_path: Path) -> None:
    systemd = Systemd(tmp_path, CommandResult(0, "", ""))
    transient_units.put_back(OP, "/sys/module/x/parameters/y", "100", systemd)
    asked = systemd.asked.read_text().splitlines()
    assert asked.index("--") < asked.index("call"), "busctl has an option -c of its own"
    assert asked[asked.index("BindsTo") :][:4] == ["BindsTo", "as", "1", transient_units.name(OP)]
    assert asked[asked.index("After") :][:4] == ["After", "as", "1", transient_units.name(OP)]
    post = asked[asked.index("ExecStopPost") :][:8]
    assert post[2:7] == ["1", "/bin/sh", "3", "/bin/sh", "-c"]
    assert post[7].endswith("echo 100 > /sys/module/x/parameters/y")
    known = ("s", "b", "as", "a(sasb)")
    signatures = [word for word in asked if word in known]
    assert int(asked[asked.index("fail") + 1]) == len(signatures)


def test_what_a_killed_benchmark_left_is_removed_by_systemd(tmp_path: Path) -> None:
    systemd = Systemd(tmp_path, CommandResult(0, "", ""))
    transient_units.follow(OP, ("/usr/lib/tiercel/agent.pyz", "clean-benchmarks"), systemd)
    asked = systemd.asked.read_text().splitlines()
    assert asked[asked.index("BindsTo") :][:4] == ["BindsTo", "as", "1", transient_units.name(OP)]
    assert asked[asked.index("After") :][:4] == ["After", "as", "1", transient_units.name(OP)]
    agent = "/usr/lib/tiercel/agent.pyz"
    post = asked[asked.index("ExecStopPost") :][:8]
    assert post[1:] == ["a(sasb)", "1", agent, "2", agent, "clean-benchmarks", "false"]
    known = ("s", "b", "as", "a(sasb)", "t")
    signatures = [word for word in asked if word in known]
    assert int(asked[asked.index("fail") + 1]) == len(signatures)
    limit = asked[asked.index("TimeoutStopUSec") :][:3]
    assert limit[2] == str(2**64 - 1), "LVM's programs are never killed"


def test_an_operation_works_in_its_scope_and_not_in_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    systemd = Systemd(tmp_path, CommandResult(0, "", ""))
    monkeypatch.setattr(transient_units, "CGROUP", systemd.cgroup)
    fifo = tmp_path / "done"
    os.mkfifo(fifo)
    transient_units.start(OP, lambda: _tell(fifo), systemd)
    pid, folder, session = fifo.read_text().split()
    assert pid != str(os.getpid())
    assert f"PIDs\nau\n1\n{pid}\n" in systemd.asked.read_text()
    assert folder == "/"
    assert session != str(os.getsid(0))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (CommandResult(1, "", "Call failed: Unit exists\n"), "Unit exists"),
        (MissingTool("busctl"), "busctl is not installed"),
        (TimedOut("busctl"), "systemd did not answer"),
    ],
)
def test_an_operation_that_systemd_does_not_take_is_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: CommandResult | Exception, reason: str
) -> None:
    systemd = Systemd(tmp_path, answer)
    monkeypatch.setattr(transient_units, "CGROUP", systemd.cgroup)
    began = tmp_path / "began"
    with pytest.raises(OSError, match=reason):
        transient_units.start(OP, began.touch, systemd)
    assert not began.exists()


@pytest.mark.parametrize(
    ("state", "alive"),
    [("active\n", True), ("inactive\n", False), ("failed\n", False), ("deactivating\n", True)],
)
def test_a_scope_lives_until_systemd_says_that_it_ended(
    tmp_path: Path, state: str, alive: bool
) -> None:
    assert transient_units.alive(OP, Systemd(tmp_path, CommandResult(0, state, ""))) is alive


def test_systemd_is_not_asked_for_a_scope_that_the_kernel_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transient_units, "SLICES", (tmp_path / "system.slice",))
    systemd = Systemd(tmp_path, CommandResult(0, "inactive\n", ""))
    assert not transient_units.alive(OP, systemd)
    assert "-P" not in systemd.asked.read_text().split("\n"), "systemd 246 brought it"
    systemd.asked.unlink()
    (tmp_path / "system.slice" / transient_units.name(OP)).mkdir(parents=True)
    assert transient_units.alive(OP, systemd) and not systemd.asked.exists()


@pytest.mark.parametrize(
    "answer",
    [
        CommandResult(1, "", "systemctl: invalid option -- 'P'\n"),
        CommandResult(1, "", "Failed to connect to bus: No such file or directory\n"),
        MissingTool("systemctl"),
        TimedOut("systemctl"),
    ],
)
def test_where_systemd_does_not_answer_a_scope_lives_as_long_as_its_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: CommandResult | Exception
) -> None:
    proc = tmp_path / "proc"
    monkeypatch.setattr(transient_units, "PROC", proc)
    for pid, scope in (("1", "init.scope"), ("4711", f"system.slice/{transient_units.name(OP)}")):
        (proc / pid).mkdir(parents=True)
        (proc / pid / "cgroup").write_text(f"0::/{scope}\n")
    (proc / "4712").mkdir()
    (proc / "meminfo").touch()
    systemd = Systemd(tmp_path, answer)
    assert transient_units.alive(OP, systemd)
    (proc / "4711" / "cgroup").unlink()
    assert not transient_units.alive(OP, systemd)


def _tell(fifo: Path) -> None:
    """Its pid, its folder and its session."""
    fifo.write_text(f"{os.getpid()} {Path.cwd()} {os.getsid(0)}")
