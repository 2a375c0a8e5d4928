"""Lines that give a volume to a guest."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from panel.staff.volumes.pages import guest_lines, stable_path

KEY = "ockkefwri4rnnfgs"


def test_every_line_uses_the_path_that_survives_a_reboot() -> None:
    assert stable_path(KEY) == f"/dev/tiercel/{KEY}"
    assert [line.key for line in guest_lines(KEY)] == ["xl", "libvirt", "proxmox"]
    assert all(stable_path(KEY) in line.text for line in guest_lines(KEY))


def test_the_line_for_libvirt_is_a_disk_without_the_page_cache() -> None:
    disk = ElementTree.fromstring(guest_lines(KEY)[1].text)  # noqa: S314 (our own text)
    driver, source = disk.find("driver"), disk.find("source")
    assert driver is not None
    assert source is not None
    assert (disk.get("type"), driver.get("cache")) == ("block", "none")
    assert source.get("dev") == stable_path(KEY)
