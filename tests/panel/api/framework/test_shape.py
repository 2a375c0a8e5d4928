"""What a shape shows of a mapping and of an object, and where its fields have it from."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from panel.api.framework.fields import DateTime, Integer, Text
from panel.api.framework.shape import OMITTED, Shape, names_of, show


class Part(Shape):
    """A part of a disk, of which staff see more."""

    name = Text("Of the part.")
    sector = Integer("Where it begins.", staff=True)


class Disk(Shape):
    """A shape with a field of each kind."""

    name = Text("Display name.")
    serial = Text("Of the drive.", of="drive.serial")
    model = Text("Null: not known.", of="drive.model", null=True)
    bytes = Integer("Of all of it.", of=lambda disk: disk.blocks * 512)
    host = Text("Where it is.", staff=True)
    error = Text("What is wrong.", of="error", customers=lambda disk: "ask")
    parts = Part("Its parts.", of="parts", many=True, detail=True)
    secret = Text("Shown once.", required=False)
    health = Text("By who asks.", given=True)
    slot = Integer("Where it has one.", of=lambda disk: disk.slot or OMITTED, required=False)
    read_at = DateTime("When it was read; null: never.", null=True)


def disk(**fields: Any) -> SimpleNamespace:
    drive = SimpleNamespace(serial="S1", model=None)
    parts = [SimpleNamespace(name="sda1", sector=2048)]
    known: dict[str, Any] = {"name": "sda", "drive": drive, "blocks": 2, "host": "stor-1"}
    known |= {"error": "bad", "parts": parts, "slot": None, "read_at": None}
    return SimpleNamespace(**(known | fields))


SHOWN = {
    **{"name": "sda", "serial": "S1", "model": None, "bytes": 1024, "host": "stor-1"},
    **{"error": "bad", "read_at": None},
}


def test_a_mapping_shows_what_it_has() -> None:
    assert show(Disk, {"name": "sda", "sticker": "X"}) == {"name": "sda"}


def test_each_field_is_read_where_it_says_that_it_is() -> None:
    assert show(Disk, disk(), staff=True) == SHOWN


def test_an_object_lacks_no_field_that_it_is_to_have() -> None:
    with pytest.raises(AttributeError):
        show(Disk, SimpleNamespace(name="sda"))


def test_what_is_nowhere_is_null_or_as_a_text_empty() -> None:
    shown = show(Disk, disk(drive=None))
    assert (shown["serial"], shown["model"]) == ("", None)


def test_others_than_staff_see_what_is_for_them() -> None:
    shown = show(Disk, disk(), detail=True)
    assert "host" not in shown
    assert shown["error"] == "ask"
    assert shown["parts"] == [{"name": "sda1"}]


def test_of_a_mapping_too_others_see_nothing_that_is_for_staff() -> None:
    assert show(Part, {"name": "sda1", "sector": 1}) == {"name": "sda1"}


def test_a_list_leaves_out_what_is_of_a_single_one() -> None:
    assert "parts" not in show(Disk, disk())
    shown = show(Disk, disk(), staff=True, detail=True)
    assert shown["parts"] == [{"name": "sda1", "sector": 2048}]


def test_what_is_given_is_shown_beside_what_the_row_has() -> None:
    given = {"secret": "whsec_", "health": "good"}
    assert show(Disk, disk(), staff=True, **given) == {**SHOWN, **given}


def test_a_field_without_a_place_in_this_answer_is_left_out() -> None:
    assert "slot" not in show(Disk, disk())
    assert show(Disk, disk(slot=3))["slot"] == 3


def test_a_time_is_said_in_utc() -> None:
    at = datetime(2026, 11, 27, 3, tzinfo=UTC)
    assert show(Disk, disk(read_at=at))["read_at"] == "2026-11-27T03:00:00Z"


def test_the_fields_of_a_shape_are_named_in_their_order() -> None:
    assert names_of(Part) == ("name", "sector")
