"""The panel's own transport against the fake host's SSH server, and its faults."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from jobs.hosts import contact
from jobs.transport.errors import TransportError
from storage.inventory.facts import decode
from storage.models import Host
from tests.fake import loop
from tests.fake.server import FakeServer

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_panel_reads_an_inventory_over_ssh(enrolled_fake_host: Host) -> None:
    facts = decode(contact.ask(enrolled_fake_host, "inventory").data)
    assert [vg.name for vg in facts.vgs] == ["vg0"]


def test_an_operation_outlives_the_connection_that_asked_for_it(
    enrolled_fake_host: Host, fake_server: FakeServer
) -> None:
    fake = fake_server.host
    lv = fake.root.add_lv("web12", 64 << 20)
    pause = fake.pause_next("lvchange")
    op = str(uuid.uuid4())
    contact.ask(
        enrolled_fake_host,
        "volume.tag",
        {"vg": "vg0", "lv": "web12", "volume_key": "aaaaaaaa"},
        {
            "vg_uuid": lv.vg.uuid,
            "lv_uuid": lv.uuid,
            "lv_name": "web12",
            "size_bytes": lv.size_bytes,
        },
        request_id=op,
    )
    assert pause.reached.wait(10)
    fake_server.cut()
    assert fake.op_alive(op)
    pause.resume()
    fake.wait_for_ops()
    asked = contact.ask(enrolled_fake_host, "op.get", {"op": op, "after": 0})
    assert asked.data["state"] == "done"
    assert "tiercel" in lv.tags


@pytest.mark.parametrize("fault", ["refuse", "change_host_key", "demand_totp", "break_sudo"])
def test_each_fault_of_the_way_is_an_error_of_the_panel(
    enrolled_fake_host: Host, fake_server: FakeServer, fault: str
) -> None:
    fake_server.cut()
    getattr(fake_server, fault)()
    fake_server.cut()
    with pytest.raises(TransportError):
        contact.ask(enrolled_fake_host, "inventory", deadline_seconds=10)


def test_servers_that_several_threads_start_at_once_share_one_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, together = asyncio.new_event_loop, threading.Barrier(4)

    def slowly() -> asyncio.AbstractEventLoop:
        time.sleep(0.1)
        return made()

    def first() -> asyncio.AbstractEventLoop:
        together.wait()
        return loop.loop()

    monkeypatch.setattr(loop, "_loops", [])
    monkeypatch.setattr(asyncio, "new_event_loop", slowly)
    with ThreadPoolExecutor(4) as pool:
        loops = {future.result() for future in [pool.submit(first) for _ in range(4)]}
    assert len(loops) == 1
    (one,) = loops
    one.call_soon_threadsafe(one.stop)
