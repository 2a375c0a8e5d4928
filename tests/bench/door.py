"""`make bench-door`: what others notice during floods of the panel's doors.

The panel is the production set-up: gunicorn as the Procfile runs it, with a PostgreSQL and a Redis
of its own, behind a proxy that names its clients (this program says X-Forwarded-For), on loopback.
First the others are alone for a fifth of the time, then with all of these together:

- 40 long-polls for a job that does not end, of 20 tokens, which ask again as answers say;
- 200 requests a second of one token, which heeds nothing;
- 50 sign-in attempts a second, half from one address on one account, half from 4 others on any;
- 20 browsers with live pages: what those pages poll, as often as they do;
- 40 requests from one address that are never whole: without their body, or with one byte a second
  of it or of the head.

The others are a person who opens pages, a load balancer at /health and a program with a token of
its own. A request that is not answered as it should be counts as failed. The last line is `BENCH
{json}`. SECONDS is the time of all (120), HOSTS and VOLUMES the size of the invented fleet.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from django.db import connection

from tests.faults.cluster import cluster

SECONDS, HOSTS, VOLUMES = 120, 20, 200
QUIET_SHARE: Final = 0.2
GOAL_MS: Final = 300.0
LONG_POLLS, POLLING_TOKENS, WAIT_SECONDS = 40, 20, 30
TOKEN_RATE, SIGN_IN_RATE, BROWSERS, HALF_REQUESTS = 200.0, 50.0, 20, 40
HALVES: Final = (
    ("POST /account/login/", "Content-Length: 1000\r\n\r\n", ""),
    ("POST /enrol/x", "Content-Length: 1000\r\n\r\n", "a"),
    ("POST /api/v1/billing/status", "Transfer-Encoding: chunked\r\n\r\n5\r\n", "a"),
    ("GET /health", "X-Slow: ", "a"),
)
"""Requests that are never whole: the line, the end of what is sent at once, and what follows each
second."""
PAUSE_SECONDS: Final = {"pages": 0.4, "health": 0.2, "api": 0.3}
MOST_OUTSTANDING: Final = 400
"""Of one flood; what would be sent beyond that is left out and counted."""
TIMEOUT_SECONDS: Final = 60.0
Headers = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; status 0 where nothing did."""

    status: int
    seconds: float
    headers: Headers
    body: bytes


@dataclass(slots=True)
class Tally:
    """What one client measured: times of good answers, and the statuses of all."""

    times: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    left_out: int = 0

    def add(self, answer: Answer, good: int = 200) -> None:
        self.statuses[answer.status] += 1
        if answer.status == good:
            self.times.append(answer.seconds * 1000)

    def figures(self) -> dict[str, float | int]:
        failed = self.statuses.total() - len(self.times)
        if len(self.times) < 2:
            return {"count": len(self.times), "failed": failed}
        return {
            "p50_ms": round(statistics.median(self.times), 1),
            "p95_ms": round(statistics.quantiles(self.times, n=20, method="inclusive")[18], 1),
            "max_ms": round(max(self.times), 1),
            "count": len(self.times),
            "failed": failed,
        }


@dataclass(frozen=True, slots=True)
class Door:
    """One request each, on a connection of its own, as many proxies send them."""

    port: int

    async def ask(
        self, path: str, address: str, headers: Headers | None = None, body: str = ""
    ) -> Answer:
        """GET, or POST of a form where there is a body."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                text = await self._exchange(path, address, headers or {}, body)
        except (TimeoutError, OSError):
            return Answer(0, time.monotonic() - began, {}, b"")
        head, _, rest = text.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        named = dict(line.split(": ", 1) for line in lines if ": " in line)
        status = int(first.split()[1]) if first else 0
        return Answer(status, time.monotonic() - began, named, rest)

    async def hold(self, line: str, rest: str, drip: str, address: str) -> Answer:
        """A request that is never whole, until the panel ends it."""
        began = time.monotonic()
        head = f"{line} HTTP/1.1\r\nHost: localhost:{self.port}\r\nX-Forwarded-For: {address}\r\n"
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            dripping = asyncio.create_task(dripped(writer, f"{head}{rest}".encode(), drip.encode()))
            try:
                text = await reader.read()
            finally:
                dripping.cancel()
                writer.close()
        except OSError:
            text = b""
        status = int(text.split()[1]) if text else 0
        return Answer(status, time.monotonic() - began, {}, text)

    async def _exchange(self, path: str, address: str, headers: Headers, body: str) -> bytes:
        method = "POST" if body else "GET"
        said = {"Host": f"localhost:{self.port}", "Connection": "close", **headers}
        said["X-Forwarded-For"] = address
        if body:
            said |= {
                "Content-Type": "application/x-www-form-urlencoded",
                "Content-Length": str(len(body)),
            }
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {said[name]}" for name in said)]
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write("\r\n".join([*lines, "", body]).encode())
            await writer.drain()
            return await reader.read()
        finally:
            writer.close()


async def dripped(writer: asyncio.StreamWriter, begin: bytes, drip: bytes) -> None:
    """Send the beginning, and then the drip every second, as long as anybody takes it."""
    with contextlib.suppress(OSError):
        writer.write(begin)
        while drip:
            await asyncio.sleep(1)
            writer.write(drip)
            await writer.drain()


@dataclass(frozen=True, slots=True)
class World:
    """Who asks for what."""

    pages: list[str]
    polls: list[list[tuple[str, float]]]
    """Of each browser: what its page polls, and how often."""
    items: list[str]
    job: str
    cookie: str
    cookies: list[str]
    token: str
    flooding_token: str
    polling_tokens: list[str]
    email: str


def main() -> int:
    seconds = float(os.environ.get("SECONDS") or SECONDS)
    hosts, volumes = (
        int(os.environ.get(name) or default)
        for name, default in (("HOSTS", HOSTS), ("VOLUMES", VOLUMES))
    )
    with cluster() as (folder, _):
        from tests.integration.running import REDIS, Running
        from tests.integration.until import until

        panel = Running(os.environ, folder)
        panel.environment |= {
            "TIERCEL_DEBUG": "0",
            "TIERCEL_TRUST_PROXY": "1",
            "TIERCEL_STAFF_NEED_SECOND_FACTOR": "1",
            "TIERCEL_LOG_LEVEL": "ERROR",
            "WEB_CONCURRENCY": os.environ.get("WEB_CONCURRENCY") or "2",
        }
        try:
            world = invent(hosts, volumes)
            connection.close()
            panel.start(REDIS)
            panel.start("web")
            door = Door(panel.port)
            until("the web answers", lambda: asyncio.run(is_up(door)), 60)
            result = asyncio.run(measure(door, world, seconds))
        finally:
            connection.close()
            panel.stop_all()
    print(f"BENCH {json.dumps({'hosts': hosts, 'volumes': volumes, **result})}")
    return 0


def invent(hosts: int, volumes: int) -> World:
    """The fleet, the sessions and the tokens."""
    from allauth.mfa.models import Authenticator

    from jobs.models import Job, State
    from panel.accounts import api_tokens, people
    from storage.access import StaffRole
    from tests import fleet

    made = fleet.build(hosts, volumes, hours=1)
    everybody = [
        people.add(
            email=f"staff{n}@example.com",
            password=fleet.PASSWORD,
            name=f"Staff {n}",
            staff_role=StaffRole.ADMIN,
        )
        for n in range(BROWSERS)
    ]
    for person in (made.admin, *everybody):
        Authenticator.objects.create(user=person, type=Authenticator.Type.TOTP, data={})
    waiting = Job.objects.filter(state=State.QUEUED).first() or Job.objects.unfinished().first()
    if waiting is None:
        raise RuntimeError("the invented fleet has no job that is under way")
    keys = [volume.key for volume in made.volumes[: 2 * BROWSERS]]

    def token(person: Any) -> str:
        return api_tokens.issue(person, name="bench", scopes=["read"], days=1)[1]

    return World(
        pages=["/", "/volumes/", f"/volumes/{keys[0]}/", f"/hosts/{made.hosts[1].key}/", "/jobs/"],
        polls=[
            polls_of(n, keys[n % len(keys)], made.hosts[n % hosts].key) for n in range(BROWSERS)
        ],
        items=[f"/volumes/{keys[0]}", "/jobs/?limit=20", f"/volumes/{keys[1]}/wish", "/"],
        job=waiting.key,
        cookie=session_of(made.admin),
        cookies=[session_of(person) for person in everybody],
        token=token(made.admin),
        flooding_token=token(everybody[0]),
        polling_tokens=[token(person) for person in everybody[:POLLING_TOKENS]],
        email=made.admin.email,
    )


def polls_of(n: int, volume: str, host: str) -> list[tuple[str, float]]:
    """What the page of a browser polls, every so many seconds; each polls the jobs of now."""
    page = (
        [(f"/volumes/{volume}/figures", 5.0), (f"/volumes/{volume}/jobs", 5.0)],
        [("/overview", 5.0)],
        [(f"/hosts/{host}/now", 5.0), (f"/hosts/{host}/jobs", 5.0)],
        [("/volumes/", 30.0)],
    )[n % 4]
    return [("/running", 5.0), *page]


def session_of(person: Any) -> str:
    """The cookie of a person who is signed in."""
    from django.conf import settings
    from django.test import Client

    client = Client()
    client.force_login(person)
    name = settings.SESSION_COOKIE_NAME
    return f"{name}={client.cookies[name].value}"


async def is_up(door: Door) -> bool:
    return (await door.ask("/health", "192.0.2.1")).status == 200


async def measure(door: Door, world: World, seconds: float) -> dict[str, Any]:
    """The others alone, then beside the floods."""
    quiet_seconds = seconds * QUIET_SHARE
    for path in world.pages:  # finds code, templates and connections warm
        for _ in range(6):
            answer = await door.ask(path, "192.0.2.1", {"Cookie": world.cookie})
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status}")
    before = {name: Tally() for name in PAUSE_SECONDS}
    await together(quiet_seconds, others(door, world, before))
    during = {name: Tally() for name in PAUSE_SECONDS}
    names = ("long_polls", "one_token", "sign_ins", "browsers", "half_requests")
    floods = {name: Tally() for name in names}
    flooding = [
        *long_polls(door, world, floods["long_polls"]),
        one_token(door, world, floods["one_token"]),
        sign_ins(door, world, floods["sign_ins"]),
        *browsers(door, world, floods["browsers"]),
        *half_requests(door, floods["half_requests"]),
    ]
    await together(seconds - quiet_seconds, [*others(door, world, during), *flooding])
    report(before, during, floods)
    figures = {name: each.figures() for name, each in during.items()}
    return {
        "seconds": seconds,
        "before": {name: each.figures() for name, each in before.items()},
        "during": figures,
        "floods": {
            name: {"answers": dict(each.statuses), "left_out": each.left_out}
            for name, each in floods.items()
        },
        "goal_ms": GOAL_MS,
        "is_met": all(
            figures[name].get("p95_ms", GOAL_MS) < GOAL_MS for name in ("pages", "health")
        ),
        "cpus": os.cpu_count(),
        "load_1min": round(os.getloadavg()[0], 1),
    }


async def together(seconds: float, actors: list[Coroutine[Any, Any, None]]) -> None:
    """Let all of them act for so long."""
    tasks = [asyncio.create_task(actor) for actor in actors]
    await asyncio.sleep(seconds)
    ended = [task for task in tasks if task.done()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for task in ended:
        task.result()  # no client is meant to end before


def others(door: Door, world: World, measured: dict[str, Tally]) -> list[Coroutine[Any, Any, None]]:
    """Those who are to notice nothing."""
    cookie, token = {"Cookie": world.cookie}, bearer(world.token)
    paths = {
        "pages": (world.pages, cookie),
        "health": (["/health"], {}),
        "api": ([f"/api/v1{path}" for path in world.items], token),
    }

    async def one(name: str, address: str) -> None:
        asked, headers = paths[name]
        for path in itertools.cycle(asked):
            measured[name].add(await door.ask(path, address, headers))
            await asyncio.sleep(PAUSE_SECONDS[name])

    return [one(name, f"192.0.2.{n}") for n, name in enumerate(paths, 1)]


def long_polls(door: Door, world: World, measured: Tally) -> Iterator[Coroutine[Any, Any, None]]:
    async def one(n: int) -> None:
        token = bearer(world.polling_tokens[n % len(world.polling_tokens)])
        while True:
            path = f"/api/v1/jobs/{world.job}?wait={WAIT_SECONDS}"
            answer = await door.ask(path, f"198.51.100.{n % POLLING_TOKENS}", token)
            measured.add(answer)
            await asyncio.sleep(float(answer.headers.get("Retry-After", 0)))

    return (one(n) for n in range(LONG_POLLS))


async def one_token(door: Door, world: World, measured: Tally) -> None:
    token = bearer(world.flooding_token)
    await paced(TOKEN_RATE, measured, lambda n: door.ask("/api/v1/volumes/", "203.0.113.1", token))


async def sign_ins(door: Door, world: World, measured: Tally) -> None:
    first = await door.ask("/account/login/", "203.0.113.2")
    cookies = [value for name, value in first.headers.items() if name == "Set-Cookie"]
    cookie = next(each.split(";")[0] for each in cookies if "csrf" in each.lower())
    marker = b'name="csrfmiddlewaretoken" value="'
    secret = first.body.partition(marker)[2].partition(b'"')[0].decode()

    async def attempt(n: int) -> Answer:
        is_aimed = n % 2 == 0
        address = "203.0.113.2" if is_aimed else f"100.64.0.{n // 2 % 4}"
        email = world.email if is_aimed else f"stranger{n}@example.com"
        form = {"login": email, "password": f"guess{n}", "csrfmiddlewaretoken": secret}
        origin = {"Cookie": cookie, "Referer": f"http://localhost:{door.port}/account/login/"}
        return await door.ask("/account/login/", address, origin, urlencode(form))

    await paced(SIGN_IN_RATE, measured, attempt)


def browsers(door: Door, world: World, measured: Tally) -> Iterator[Coroutine[Any, Any, None]]:
    async def poll(n: int, path: str, every_seconds: float) -> None:
        headers = {"Cookie": world.cookies[n], "HX-Request": "true"}
        await asyncio.sleep(random.random() * every_seconds)
        while True:
            measured.add(await door.ask(path, f"198.51.100.{100 + n}", headers))
            await asyncio.sleep(every_seconds)

    return (
        poll(n, path, seconds) for n, polled in enumerate(world.polls) for path, seconds in polled
    )


def half_requests(door: Door, measured: Tally) -> Iterator[Coroutine[Any, Any, None]]:
    async def one(n: int) -> None:
        while True:
            measured.add(await door.hold(*HALVES[n % len(HALVES)], "203.0.113.3"))

    return (one(n) for n in range(HALF_REQUESTS))


async def paced(
    rate: float, measured: Tally, send: Callable[[int], Coroutine[Any, Any, Answer]]
) -> None:
    """So many a second, whatever becomes of those before."""
    outstanding: set[asyncio.Task[None]] = set()

    async def one(n: int) -> None:
        measured.add(await send(n))

    try:
        async for n in ticks(rate):
            if len(outstanding) >= MOST_OUTSTANDING:
                measured.left_out += 1
                continue
            task = asyncio.create_task(one(n))
            outstanding.add(task)
            task.add_done_callback(outstanding.discard)
    finally:
        for task in list(outstanding):
            task.cancel()


async def ticks(rate: float) -> AsyncIterator[int]:
    began = time.monotonic()
    for n in itertools.count():
        await asyncio.sleep(max(0.0, began + n / rate - time.monotonic()))
        yield n


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def report(before: dict[str, Tally], during: dict[str, Tally], floods: dict[str, Tally]) -> None:
    for name in before:
        for when, measured in (("before", before[name]), ("during", during[name])):
            print(f"  {name:7} {when}:  {measured.figures()}")
    for name, measured in floods.items():
        print(f"  {name:13}  answers {dict(measured.statuses)}, left out {measured.left_out}")
    print(f"load of this machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    sys.exit(main())
