from __future__ import annotations

from storage.agent.kernel import dm
from tests.fake import FakeHost
from tests.fake.fixtures import fake_host as fake_host
from tests.fake.hands import Hands


def test_an_active_volume_is_told_by_its_name_without_lvm(fake_host: FakeHost) -> None:
    dashed = Hands(fake_host).add_lv("web-data", 64 << 20)
    plain = Hands(fake_host).add_lv("web", 64 << 20)
    before = list(fake_host.executed)
    assert dm.lv_uuid(fake_host, "vg0", "web-data") == dashed.uuid
    assert dm.lv_uuid(fake_host, "vg0", "web") == plain.uuid
    assert fake_host.executed == before


def test_a_volume_that_the_kernel_has_not_is_not_told(fake_host: FakeHost) -> None:
    assert dm.lv_uuid(fake_host, "vg0", "web") is None
