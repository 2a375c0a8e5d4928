"""`python -m tests.demo [--auto] [--screenshots] [--port N]`: what `make demo` and `make
screenshots` run.

An empty database and a fresh host each time; everything it started is stopped when it ends. Its
last line before it waits is `READY {json}`, for scripts. With screenshots a customer orders one of
the caches; it takes its part of README's pictures and ends.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from panel.operations import local_services, supervisor
from storage import row_security
from tests.billing_simulator.server import Simulator
from tests.demo import database, settings
from tests.demo.furniture import TENANTS
from tests.demo.stage import stage

if TYPE_CHECKING:
    from storage.models import Host
    from tests.demo.admin import Admin
    from tests.demo.history import Kept
    from tests.demo.host import DemoHost
    from tests.demo.people import Login

HOST_NAME = "storage01"
VG = "vg0"
CONTACT_SECONDS = 90
BOTH_CACHED = "Both volumes have their caches; look at them under Volumes."
BY_HAND = "Open a volume under Volumes, choose Add cache, and look at the preview."


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.demo", description=__doc__)
    parser.add_argument(
        "--auto",
        action="store_true",
        default=os.environ.get("AUTO") == "1",
        help="add both caches without a click (or AUTO=1)",
    )
    parser.add_argument(
        "--screenshots",
        action="store_true",
        default=os.environ.get("SCREENSHOTS") == "1",
        help="add both caches, take pictures for README and end (or SCREENSHOTS=1)",
    )
    parser.add_argument("--port", type=int, default=int(os.environ.get("PORT") or 8000))
    options = parser.parse_args()
    # A shell that starts a script in the background has it ignore Ctrl-C.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    if not supervisor.is_free(options.port):
        print(f"Something listens on port {options.port}: stop it, or choose PORT=9000.")
        return 1
    with ExitStack() as stack:
        try:
            _run(stack, options.port, auto=options.auto, screenshots=options.screenshots)
        except KeyboardInterrupt:
            print("Stopping everything this demo started …", flush=True)
        except (local_services.ServiceError, supervisor.ProcessesError, RuntimeError) as error:
            print(f"The demo could not go on: {error}", file=sys.stderr, flush=True)
            return 1
    return 0


def _run(stack: ExitStack, port: int, *, auto: bool, screenshots: bool) -> None:
    from tests.demo import host as hosts

    environment = settings.environment(port)
    with stage("Find the storage host"):
        host = hosts.start(stack)
    # The machine boots meanwhile: it keeps one core busy for half a minute.
    with stage("Start PostgreSQL and Redis, make an empty database"):
        _prepare(stack, environment)
    notices = (settings.SIMULATED * (host.kind == "fake"), settings.INVENTED * (not screenshots))
    environment["TIERCEL_NOTICE"] = " ".join(filter(None, notices))
    billing = Simulator(panel_url=environment["TIERCEL_PUBLIC_URL"])
    billing.start()
    stack.callback(billing.stop)
    environment |= billing.settings
    os.environ.update(environment)
    logins, token = _settle(with_tour=not screenshots)
    log = Path(local_services.CHECKOUT) / "var" / "log" / "demo.log"
    with stage(f"Start web, workers and beat (their lines are in {log.name})"):
        running = stack.enter_context(supervisor.Processes(environment, port, output=log))
        running.wait_healthy()
    # Pictures for documents show nothing invented.
    past = [] if screenshots else _past()
    with stage("Wait until the storage host has booted"):
        host.wait_until_up()
    from tests.demo import recipes
    from tests.demo.admin import Admin

    url = f"http://localhost:{port}"
    admin = Admin(url, logins[0].email, logins[0].password)
    with stage("Enrol the host with its volumes and guests, observe-only, accept its fingerprint"):
        record = _enrol(environment, host, admin, port)
        _order_past(past, record)
    print(f"         {_seen(record)}", flush=True)
    with stage(f"See that root lets Tiercel change {VG} (agent.pyz allow-vg {VG} on the host)"):
        vg_uuid = _allow(admin, record)
    with stage("Create two customers' volumes, start a guest and load on each"):
        volumes = recipes.volumes(host, admin, record, vg_uuid)
    if screenshots:
        from tests.demo.customer import Buyer
        from tests.demo.screenshots import take

        buyer = next(login for login in logins if login.customer == volumes[0][0].customer)
        order = recipes.order(admin, volumes, Buyer(url, buyer))
        with stage("Take the pictures"):
            take(url, logins, order, host.kind)
        return
    results, hint = None, BY_HAND
    if auto:
        try:
            results, hint = recipes.caches(admin, volumes), BOTH_CACHED
        except RuntimeError as error:
            # The panel works, and says more than a demo that ends here.
            hint = f"Not both volumes got their caches: {error} {BY_HAND}"
    ready: dict[str, Any] = {
        "url": url,
        "logins": [login.to_json() for login in logins],
        "token": token,
        "host_kind": host.kind,
    }
    if results is not None:
        ready["results"] = results
    _greet(url, logins, billing.url, hint)
    print(f"READY {json.dumps(ready)}", flush=True)
    running.keep(local_services.every_service())


def _prepare(stack: ExitStack, environment: dict[str, str]) -> None:
    """Services, which end with the stack; an empty database; tables."""
    place = local_services.here()
    started = local_services.start_services(local_services.every_service(place))
    stack.callback(local_services.stop, started)
    database.fresh(place)
    database.migrate(environment)


def _settle(*, with_tour: bool) -> tuple[list[Login], str]:
    """The people, customers and plans of the demo, and a token for the API. Everybody begins with
    the tour, but pictures are without."""
    import django

    django.setup()
    row_security.open_process()
    from tests.demo import people

    return people.settle(with_tour=with_tour)


def _past() -> list[Kept]:
    from django.utils import timezone

    from tests.demo import history

    with stage("Seed a week of invented history for both customers, marked as such"):
        return history.volumes(timezone.now())


def _order_past(past: list[Kept], record: Host) -> None:
    from django.utils import timezone

    from tests.demo import history

    history.orders(past, record, timezone.now())


def _enrol(environment: dict[str, str], host: DemoHost, admin: Admin, port: int) -> Host:
    from jobs.hosts.trust import key_fingerprint
    from storage.models import Host
    from tests.demo.recipes import LOAD_SECONDS

    line = database.manage(
        environment,
        "enrol", HOST_NAME, host.address, "--port", str(host.port),
        "--public-url", f"http://{host.panel_address}:{port}",
    ).strip()  # fmt: skip
    # What was there before: while the line is pasted, to save the time.
    with ThreadPoolExecutor(1) as beside:
        furnished = beside.submit(host.furnish, TENANTS, LOAD_SECONDS)
        host.paste(line)
        furnished.result()
    record = Host.objects.get(name=HOST_NAME)
    # Root allows the group while the panel reads the host for the first time, to save the time.
    with ThreadPoolExecutor(1) as beside:
        allowed = beside.submit(host.allow, VG)
        admin.accept(record, key_fingerprint(host.host_key()))
        _wait_for(record, "its first inventory", lambda: bool(record.facts and record.hello))
        allowed.result()
    return record


def _seen(record: Host) -> str:
    """What observing alone has shown."""
    facts = record.inventory
    lvs = facts.public_lvs() if facts else ()
    cached = sum(lv.cache is not None for lv in lvs)
    guests = {user.name for lv in lvs for user in lv.users if user.kind == "qemu"}
    return f"{len(lvs)} volumes found, {cached} with a cache, used by {', '.join(sorted(guests))}"


def _allow(admin: Admin, record: Host) -> str:
    """Returns the volume group's uuid once the panel has seen root's permission."""
    if not _allowed(record):
        admin.refresh(record)
    _wait_for(record, "the permission", lambda: bool(_allowed(record)))
    return _allowed(record)


def _allowed(record: Host) -> str:
    facts = record.inventory
    found = [vg.uuid for vg in facts.vgs if vg.name == VG and vg.allowed] if facts else []
    return found[0] if found else ""


def _wait_for(record: Host, what: str, is_there: Any) -> None:
    end = time.monotonic() + CONTACT_SECONDS
    while time.monotonic() < end:
        record.refresh_from_db()
        if is_there():
            return
        time.sleep(0.5)
    raise RuntimeError(f"{record} did not show {what}: {record.error or 'no error was noted'}")


def _greet(url: str, logins: list[Login], billing_url: str, hint: str) -> None:
    people = "\n".join(
        f"  {login.email:24} {login.password}   {login.customer or login.role}" for login in logins
    )
    billing = f"Customers buy plans themselves; their invoices: {billing_url} (billing simulator)"
    text = f"\n  {url}\n{people}\n\n  {hint}\n  {billing}\n  Ctrl-C stops everything.\n"
    print(re.sub(r"(?m)^", "  ", text), flush=True)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
