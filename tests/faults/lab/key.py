"""What a thief of the panel's key tries on a host: it opens the agent, and nothing else."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory
from threading import Thread

from tests.faults.fault import Fault, Play, Played
from tests.faults.lab.site import Site
from tests.faults.workers import Workers
from tests.lab.vm import free_port

WAIT_SECONDS = 20
NO_ANSWER = 124
LEFT = "/tmp/left-by-the-key"
HELLO = f'{{"v":1,"id":"{uuid.uuid4()}","verb":"hello","args":{{}},"expect":{{}}}}\n'
SSHD = b"\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x16"
"""CONNECT to 127.0.0.1:22, in the words of SOCKS5."""

Attempt = Callable[["Thief"], str]
"""What the key opened, in words; "" where it opened nothing."""


def faults(site: Site) -> Iterator[Fault]:
    yield Fault(f"{len(ATTEMPTS)} things that a stolen key is good for elsewhere",
                "each is refused; only the agent answers", _tried(site), "S22")  # fmt: skip


def _tried(site: Site) -> Play:
    def play(workers: Workers) -> Played:
        began = time.time()
        thief = Thief(site)
        site.reset()
        problems = [
            f"{name}: {won}" for name, attempt in ATTEMPTS.items() if (won := attempt(thief))
        ]
        refused = len(ATTEMPTS) - len(problems)
        return Played(
            f"{refused} of {len(ATTEMPTS)} refused", problems, 0.0, bound_s=time.time() - began
        )

    return play


class Thief:
    """OpenSSH's own clients with the panel's key."""

    def __init__(self, site: Site) -> None:
        self.site = site
        lab = site.lab
        self.options = [
            "-F", "none", "-i", str(site.world.key), "-o", "IdentitiesOnly=yes",
            "-o", f"UserKnownHostsFile={lab.keys.known_hosts}",
            "-o", "StrictHostKeyChecking=yes", "-o", "BatchMode=yes",
        ]  # fmt: skip

    def run(
        self, *words: str, program: str = "ssh", stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        command = [program, *self.options, "-p" if program == "ssh" else "-P"]
        command += [str(self.site.lab.ssh_port), *words]
        try:
            return subprocess.run(
                command, input=stdin, capture_output=True, text=True, timeout=WAIT_SECONDS
            )
        except subprocess.TimeoutExpired:
            # The agent waits for the end of a line of JSON, and a copying program for its own.
            return subprocess.CompletedProcess(command, NO_ANSWER, "", "")

    @contextmanager
    def open(self, *words: str) -> Iterator[subprocess.Popen[bytes]]:
        """A connection that stays open meanwhile. ssh asks for an agent or a display to be
        forwarded only where it has one itself."""
        command = ["ssh", *self.options, "-p", str(self.site.lab.ssh_port), *words]
        with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as agent:
            agent.bind(f"{folder}/agent")
            agent.listen()
            Thread(target=_refuse_all, args=(agent,), daemon=True).start()
            process = subprocess.Popen(
                command,
                env={**os.environ, "SSH_AUTH_SOCK": f"{folder}/agent", "DISPLAY": ":99"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            try:
                yield process
            finally:
                process.kill()
                process.communicate()
                agent.shutdown(socket.SHUT_RDWR)

    def left(self) -> str:
        """What a command of the thief's wrote on the host."""
        made = self.site.lab.run(f"ls -d {LEFT}; rm -rf {LEFT}", check=False).stdout.strip()
        return f"{made} was made" if made else ""


def _refuse_all(agent: socket.socket) -> None:
    """An SSH agent that has no key: ssh asks it for its keys first, and waits for the answer.

    Source: draft-miller-ssh-agent, SSH_AGENT_FAILURE."""
    with suppress(OSError):  # The socket was shut down.
        while True:
            connection, _ = agent.accept()
            with connection:
                while connection.recv(4096):
                    connection.sendall(b"\0\0\0\1\5")


HOST = "tiercel@127.0.0.1"


def _judged(thief: Thief, done: subprocess.CompletedProcess[str]) -> str:
    """Anything on stdout that is no reply of the agent's is too much."""
    lines = [line for line in done.stdout.splitlines() if not line.startswith('{"v":1,')]
    return thief.left() or (f"it said {lines[0][:80]!r}" if lines else "")


def _shell(thief: Thief) -> str:
    return _judged(thief, thief.run(HOST, stdin=f"id; touch {LEFT}\n"))


def _command(thief: Thief) -> str:
    return _judged(thief, thief.run(HOST, f"id; touch {LEFT}"))


def _substitution(thief: Thief) -> str:
    return _judged(thief, thief.run(HOST, f"$(touch {LEFT})\n`touch {LEFT}`"))


def _arguments(thief: Thief) -> str:
    done = thief.run(HOST, "sudo -n /usr/lib/tiercel/agent.pyz allow-vg stolen")
    allowed = "stolen" in thief.site.lab.run("cat /etc/tiercel/agent.json").stdout
    return "the policy was changed" if allowed else _judged(thief, done)


def _sftp(thief: Thief) -> str:
    done = thief.run("-b", "-", HOST, program="sftp", stdin=f"ls /\nmkdir {LEFT}\n")
    return thief.left() or ("" if done.returncode else "sftp works")


def _scp(thief: Thief) -> str:
    for protocol in ("-O", "-s"):
        key = str(thief.site.world.key.with_suffix(".pub"))
        done = thief.run(protocol, key, f"{HOST}:{LEFT}", program="scp")
        if (won := thief.left()) or not done.returncode:
            return won or f"scp {protocol} works"
    return ""


def _banner(port: int, ask: bytes = b"") -> bytes:
    """What comes out of a forwarded port."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            with socket.create_connection(("127.0.0.1", port), 5) as connection:
                if ask:
                    connection.sendall(b"\x05\x01\x00")
                    connection.recv(2)
                    connection.sendall(ask)
                    connection.recv(10)
                connection.settimeout(5)
                return connection.recv(4)
        except ConnectionRefusedError:
            time.sleep(0.2)
        except OSError:
            return b""
    return b""


def _local(thief: Thief) -> str:
    port = free_port()
    with thief.open("-N", "-L", f"{port}:127.0.0.1:22", HOST):
        return "a port of the host's network is reached" if _banner(port) else ""


def _socks(thief: Thief) -> str:
    port = free_port()
    with thief.open("-N", "-D", str(port), HOST):
        return "the host's network is reached" if _banner(port, SSHD) else ""


def _remote(thief: Thief) -> str:
    forward = ("-R", "127.0.0.1:2222:127.0.0.1:22", "-o", "ExitOnForwardFailure=yes")
    with thief.open("-N", *forward, HOST) as process:
        try:
            return "" if process.wait(3 * WAIT_SECONDS) else "it ended well"
        except subprocess.TimeoutExpired:
            return "the host listens for the thief"


def _stream(thief: Thief) -> str:
    done = thief.run("-W", "127.0.0.1:22", HOST)
    return "the host's own sshd answers" if "SSH-" in done.stdout else ""


def _greet(process: subprocess.Popen[bytes]) -> None:
    """Until the agent answers: whatever was asked for beside it is decided by then."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(HELLO.encode())
    process.stdin.flush()
    reply = process.stdout.readline()
    assert b'"ok":true' in reply, reply


def _agent(thief: Thief) -> str:
    with thief.open("-A", HOST) as process:
        _greet(process)
        sockets = thief.site.lab.run("ls -d /tmp/ssh-*/agent.*", check=False).stdout
    return "an agent's socket is on the host" if sockets else ""


def _x11(thief: Thief) -> str:
    with thief.open("-Y", HOST) as process:
        _greet(process)
        displays = thief.site.lab.run("ss -ltn | grep -E ':60[0-9][0-9] '", check=False).stdout
    return "the host listens for X11" if displays else ""


def _terminal(thief: Thief) -> str:
    done = thief.run("-tt", HOST, stdin="\x03\x1a")
    refused = "PTY allocation request failed" in done.stderr
    return _judged(thief, done) if refused else f"no refusal: {done.stderr[:80]!r}"


def _environment(thief: Thief) -> str:
    words = ("LD_PRELOAD=/tmp/x.so", "PYTHONPATH=/tmp", "PYTHONSTARTUP=/tmp/x", "BASH_ENV=/tmp/x")
    with thief.open("-o", f"SetEnv={' '.join(words)}", HOST) as process:
        _greet(process)
        seen = thief.site.lab.run(
            "for each in $(pgrep -f agent.pyz); do tr '\\0' '\\n' < /proc/$each/environ; done"
        ).stdout
    reached = [word for word in words if word in seen.splitlines()]
    return f"{', '.join(reached)} reached the agent" if reached else ""


ATTEMPTS: dict[str, Attempt] = {
    "a shell": _shell,
    "a command": _command,
    "a command to the account's shell": _substitution,
    "arguments for the agent": _arguments,
    "sftp": _sftp,
    "scp": _scp,
    "-L": _local,
    "-D": _socks,
    "-R": _remote,
    "-W": _stream,
    "-A": _agent,
    "X11": _x11,
    "a terminal": _terminal,
    "an environment": _environment,
}
