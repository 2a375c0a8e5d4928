"""QEMU's monitor: found on the command line, spoken to over a real socket."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from storage.agent.guests import qmp
from storage.agent.verbs.extend import is_grown
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
    with contextlib.suppress(BrokenPipeError), channel, channel.makefile("rwb") as lines:
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


def test_events_that_the_one_before_did_not_read_come_before_the_greeting(monitor: Monitor) -> None:
    path = monitor([_line(EVENT) + _line(GREETING), [{"return": {}}], [{"return": 1}]])
    assert qmp.talk(str(path), [{"execute": "query-block"}], 5) == [1]


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


def test_events_without_end_do_not_block_the_caller(tmp_path: Path) -> None:
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


HOSTILE = {
    "nested without end": b'{"return":' + b"[" * 200_000 + b"]" * 200_000 + b"}\n",
    "a number of a million digits": b'{"return": ' + b"9" * 1_000_000 + b"}\n",
    "no text": b"\xff\xfe\x00" * 1000 + b"\n",
    "a line of 8 MiB": b"x" * (8 << 20),
    "an empty line": b"\n",
    "no object": b'"return"\n',
    "an error that is none": b'{"error": [["\\u001b[2J", {"a": null}]]}\n',
    "words to control a terminal": b'{"error": {"desc": "\\u001b[2J\\n\\nroot#"}}\n',
}


@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_monitor_costs_a_moment_and_a_printable_sentence(
    monitor: Monitor, said: bytes
) -> None:
    path = monitor([GREETING, [{"return": {}}], [said]])
    begun = time.monotonic()
    with pytest.raises(OSError, match=r".") as caught:
        qmp.talk(str(path), [{"execute": "query-block"}], 5)
    assert time.monotonic() - begun < 8
    assert str(caught.value).isprintable() and len(str(caught.value)) < 300


def test_a_monitor_that_says_a_letter_at_a_time_does_not_block_its_caller(tmp_path: Path) -> None:
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / "qmp"))
    server.listen()

    def drip() -> None:
        channel, _ = server.accept()
        with channel, contextlib.suppress(OSError):
            while True:
                channel.sendall(b"{")
                time.sleep(0.02)

    thread = threading.Thread(target=drip)
    thread.start()
    begun = time.monotonic()
    with server, pytest.raises(qmp.Silent):
        qmp.talk(str(tmp_path / "qmp"), [], 0.3)
    assert time.monotonic() - begun < 3
    thread.join(5)


LIES: list[tuple[Any, str]] = [
    (None, "shows no disk"),
    ({"blocks": []}, "shows no disk"),
    ([None, 7, {"inserted": "x"}, {"inserted": {"image": []}}], "shows no disk"),
    (("raw", -1), "shows no disk"),
    (("raw", True), "shows no disk"),
    (("raw", str(VOLUME_BYTES)), "shows no disk"),
    (("raw", 1 << 64), "shows no disk"),
    (("raw", 1), "not informed"),
    (("qcow2", VOLUME_BYTES), "not informed"),
    (("\x1b[2J", VOLUME_BYTES), "not informed"),
    (([], VOLUME_BYTES), "not informed"),
    (("throttle", VOLUME_BYTES), "not informed"),
]


@pytest.mark.parametrize(("blocks", "said"), LIES)
def test_a_monitor_that_lies_of_its_disks_is_not_informed(
    make_fake_host: Callable[..., FakeHost], monkeypatch: pytest.MonkeyPatch, blocks: Any, said: str
) -> None:
    host = make_fake_host()
    agent, volume, args = grown(host)
    if isinstance(blocks, tuple):
        kind, size = blocks
        image = {"filename": f"/dev/vg0/{volume}", "format": kind, "virtual-size": size}
        blocks = [{"device": "virtio0", "inserted": {"image": image}}]
    asked: list[str] = []

    def lie(path: str, commands: Any) -> Any:
        asked.extend(command["execute"] for command in commands)
        return [blocks]

    monkeypatch.setattr(host, "qmp", lie)
    lines = [line["text"] for line in agent.do("guest.resize", args)["lines"]]
    assert any(said in line for line in lines) and all(line.isprintable() for line in lines)
    assert asked == ["query-block"]


def test_a_guest_whose_monitor_another_program_holds_is_busy(
    make_fake_host: Callable[..., FakeHost], monkeypatch: pytest.MonkeyPatch
) -> None:
    host = make_fake_host()
    agent, volume, args = grown(host)

    def keep_silent(path: str, commands: Any) -> Any:
        raise qmp.Silent("timed out")

    monkeypatch.setattr(host, "qmp", keep_silent)
    outcome = agent.outcome(agent.start("guest.resize", args))
    assert outcome["error"]["code"] == "guest_busy"
    assert is_grown(agent.lv(volume)["tags"])


def test_a_guest_that_is_backed_up_is_busy_and_says_with_what(
    make_fake_host: Callable[..., FakeHost],
) -> None:
    host = make_fake_host()
    agent, volume, args = grown(host)
    with host.changing() as machine:
        machine.processes[0].job = "backup"
    error = agent.outcome(agent.start("guest.resize", args))["error"]
    assert (error["code"], error["message"]) == ("guest_busy", "The guest is busy: backup running.")
    with host.changing() as machine:
        machine.processes[0].job = ""
    agent.do("guest.resize", args)
    assert not is_grown(agent.lv(volume)["tags"])


@pytest.mark.parametrize(
    ("words", "paths"),
    [
        (["-qmp", "unix:/run/a.qmp,server=on,wait=off"], ("/run/a.qmp",)),
        (
            [
                "-chardev",
                "socket,id=mon,path=/run/b.qmp,server=on",
                "-mon",
                "chardev=mon,mode=control",
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
    return agent, volume, {"lv": volume, **size, "guests": ["web12"]}


def test_a_guest_without_a_monitor_sees_it_at_its_next_start(
    make_fake_host: Callable[..., FakeHost],
) -> None:
    host = make_fake_host()
    agent, volume, args = grown(host)
    with host.changing() as machine:
        machine.processes[0].argv = machine.processes[0].argv[:-2]
    lines = [line["text"] for line in agent.do("guest.resize", args)["lines"]]
    assert any("at its next start" in line for line in lines)
    assert not is_grown(agent.lv(volume)["tags"])


def test_a_monitor_that_refuses_leaves_the_guest_to_be_informed(
    make_fake_host: Callable[..., FakeHost], monkeypatch: pytest.MonkeyPatch
) -> None:
    host = make_fake_host()
    agent, volume, args = grown(host)

    def refuse(path: str, commands: Any) -> Any:
        raise OSError("Cannot find device")

    monkeypatch.setattr(host, "qmp", refuse)
    outcome = agent.outcome(agent.start("guest.resize", args))
    assert (outcome["state"], outcome["error"]["code"]) == ("failed", "cmd_failed")
    assert "Cannot find device" in outcome["error"]["message"]
    assert is_grown(agent.lv(volume)["tags"])
