"""What the demo asks of the fake host, over its standard input."""

from __future__ import annotations

from collections.abc import Callable

from storage.agent.facts.inventory import inventory
from storage.agent.state.policy import Policy
from tests.demo.furniture import TENANTS
from tests.fake import FakeHost
from tests.fake.__main__ import obey
from tests.fake.fixtures import make_fake_host as make_fake_host


def test_what_was_there_before_tiercel_is_seen_with_its_guests_and_its_cache(
    make_fake_host: Callable[..., FakeHost],
) -> None:
    host = make_fake_host()
    for tenant in TENANTS:
        for command in tenant.commands():
            obey(host, {"run": command})
        if tenant.guest:
            obey(host, {"guest": tenant.guest, "lv": tenant.lv})
    found = {lv["name"]: lv for lv in inventory(host, Policy())["lvs"]}
    for tenant in TENANTS:
        lv = found[tenant.lv]
        assert [user["name"] for user in lv["users"]] == [tenant.guest] * bool(tenant.guest)
        assert (lv["cache"] or {}).get("mode") == ("writeback" if tenant.cache_mib else None)
