"""The kept machine; that a woken one is as good as a booted one is in tests/contract."""

from pathlib import Path

import pytest

from tests.lab import standby

IMAGE = "abc"


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> standby.Standby:
    monkeypatch.setattr(standby, "HERE", tmp_path)
    for source in standby.SOURCES:
        (tmp_path / source).write_text(source)
    found = standby.of(tmp_path / IMAGE)
    found.folder.mkdir(parents=True)
    for part in standby.PARTS:
        (found.folder / part).touch()
    return found


@pytest.mark.parametrize("part", standby.PARTS)
def test_one_that_lacks_a_part_is_none(kept: standby.Standby, part: str) -> None:
    assert kept.exists
    (kept.folder / part).unlink()
    assert not kept.exists


@pytest.mark.parametrize("source", standby.SOURCES)
def test_a_machine_described_otherwise_has_none(kept: standby.Standby, source: str) -> None:
    assert standby.of(kept.folder.parent) == kept
    (standby.HERE / source).write_text("otherwise")
    assert not standby.of(kept.folder.parent).exists


def test_an_image_that_was_moved_has_none(kept: standby.Standby) -> None:
    moved = kept.folder.parent.rename(kept.folder.parent.with_name("moved"))
    assert (moved / kept.folder.name).exists()
    assert not standby.of(moved).exists


def test_a_forgotten_one_is_gone(kept: standby.Standby) -> None:
    kept.forget()
    assert not kept.exists
