"""QEMU's monitor: found on the command line, spoken to over a real socket."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from storage.agent import qmp
from tests.contract.client import MIB, VOLUME_BYTES, Agent
from tests.contract.fake_world import FakeWorld
from tests.fake import FakeHost

GREETING = {"QMP": {"version": {"qemu": {"major": 7}}, "capabilities": ["oob"]}}
EVENT = {"event": "RESUME", "timestamp": {"seconds": 1, "microseconds": 2}}

Monitor = Callable[[list[Any]], Path]


@pytest.fixture
def monitor(tmp_path: Path) -> Iterator[Monitor]:
    """A server that says a greeting and then one answer, or more lines, to each request; what was
    asked is in the file beside its socket."""
    threads = []
    server = socket.socket(socket.AF_UNIX)

    def start(answers: list[Any]) -> Path:
        path = tmp_path / "qmp"
        server.bind(str(path))
        server.listen()
        threads.append(threading.Thread(target=_serve, args=(server, answers, tmp_path / "asked")))
        threads[-1].start()
        return path

    yield start
    server.close()
    for thread in threads:
        thread.join(5)


def _serve(server: socket.socket, answers: list[Any], asked: Path) -> None:
    channel, _ = server.accept()
    with channel, channel.makefile("rwb") as lines:
        lines.write(_line(answers[0]))
        lines.flush()
        for answer in answers[1:]:
            request = lines.readline()
            if not request:
                return
            with asked.open("ab") as file:
                file.write(request)
            lines.write(b"".join(_line(each) for each in answer))
            lines.flush()


def _line(message: Any) -> bytes:
    return message if isinstance(message, bytes) else json.dumps(message).encode() + b"\r\n"


def test_commands_are_said_in_order_and_events_passed_over(monitor: Monitor) -> None:
    path = monitor([GREETING, [{"return": {}}], [EVENT, {"return": [1]}], [{"return": {}}]])
    resize = {"execute": "block_resize", "arguments": {"device": "disk0", "size": 512}}
    assert qmp.talk(str(path), [{"execute": "query-block"}, resize], 5) == [[1], {}]
    asked = [json.loads(line) for line in (path.parent / "asked").read_text().splitlines()]
    assert asked == [{"execute": "qmp_capabilities"}, {"execute": "query-block"}, resize]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([{"hello": 1}], "no QMP"),
        ([b"ssh-2.0\n"], "does not speak"),
        ([b"[]\n"], "does not speak"),
        ([GREETING, []], "hung up"),
        ([GREETING, [{"error": {"class": "GenericError", "desc": "Cannot grow"}}]], "Cannot grow"),
    ],
)
def test_what_is_no_answer_is_an_error(monitor: Monitor, answers: list[Any], said: str) -> None:
    with pytest.raises(OSError, match=said):
        qmp.talk(str(monitor(answers)), [], 5)


def test_a_monitor_that_another_program_holds_is_not_waited_for(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "qmp"))
        server.listen()
        with pytest.raises(OSError, match="timed out"):
            qmp.talk(str(tmp_path / "qmp"), [], 0.05)


def test_events_without_end_do_not_keep_whoever_asks(tmp_path: Path) -> None:
    asked, server = threading.Event(), socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / "qmp"))
    server.listen()

    def chatter() -> None:
        channel, _ = server.accept()
        with channel, contextlib.suppress(OSError):
            channel.sendall(_line(GREETING))
            while True:
                channel.sendall(_line(EVENT))
                asked.set()

    thread = threading.Thread(target=chatter)
    thread.start()
    with server, pytest.raises(OSError, match="timed out"):
        qmp.talk(str(tmp_path / "qmp"), [], 0.2)
    thread.join(5)
    assert asked.is_set() and not thread.is_alive()


def test_a_line_without_end_is_no_answer(monitor: Monitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qmp, "REPLY_LIMIT", 1000)
    path = monitor([GREETING, [b"x" * 5000]])
    with pytest.raises(OSError, match="does not speak"):
        qmp.talk(str(path), [], 5)


@pytest.mark.parametrize(
    ("words", "paths"),
    [
        (["-qmp", "unix:/run/a.qmp,server=on,wait=off"], ("/run/a.qmp",)),
        (
            [
                *("-chardev", "socket,id=mon,path=/run/b.qmp,server=on"),
                *("-mon", "chardev=mon,mode=control"),
            ],
            ("/run/b.qmp",),
        ),
        (["-chardev", "socket,id=m,path=/run/c", "-mon", "chardev=m,mode=readline"], ()),
        (["-chardev", "socket,id=m,fd=3", "-mon", "chardev=m,mode=control"], ()),
        (["-qmp", "tcp:0:4444,server"], ()),
        (["-qmp", "unix:relative"], ()),
        (["-qmp"], ()),
    ],
)
def test_a_monitor_is_found_on_the_command_line(words: list[str], paths: tuple[str, ...]) -> None:
    assert qmp.sockets(["qemu-system-x86_64", *words]) == paths


def grown(host: FakeHost) -> tuple[Agent, str, dict[str, Any]]:
    """A volume of which the guest web12 does not know yet that it grew."""
    agent = Agent(FakeWorld(host))
    volume = agent.volume()
    host.root.guest("web12", f"/dev/vg0/{volume}")
    size = {"from_bytes": VOLUME_BYTES, "size_bytes": VOLUME_BYTES + 8 * MIB}
    agent.do("volume.extend", {"lv": volume, "pvs": ["sdc"], "volume_key": volume[2:], **size})
    told = {"lv": volume, "size_bytes": size["size_bytes"], "hypervisor": "qemu", "guest": "web12"}
    return agent, volume, told


def test_a_guest_without_a_monitor_sees_it_at_its_next_start(
    make_fake_host: Callable[..., FakeHost],
) -> None:
    host = make_fake_host()
    agent, volume, told = grown(host)
    with host.changing() as machine:
        machine.processes[0].argv = machine.processes[0].argv[:-2]
    lines = [line["text"] for line in agent.do("guest.resize", told)["lines"]]
    assert any("at its next start" in line for line in lines)
    assert "tiercel.grown" not in agent.lv(volume)["tags"]


def test_a_monitor_that_refuses_leaves_the_guest_to_be_told(
    make_fake_host: Callable[..., FakeHost], monkeypatch: pytest.MonkeyPatch
) -> None:
    host = make_fake_host()
    agent, volume, told = grown(host)

    def refuse(path: str, commands: Any) -> Any:
        raise OSError("timed out")

    monkeypatch.setattr(host, "qmp", refuse)
    outcome = agent.outcome(agent.start("guest.resize", told))
    assert (outcome["state"], outcome["error"]["code"]) == ("failed", "cmd_failed")
    assert "timed out" in outcome["error"]["message"]
    assert "tiercel.grown" in agent.lv(volume)["tags"]
