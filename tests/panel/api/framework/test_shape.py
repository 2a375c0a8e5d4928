"""What a shape shows of a mapping and of an object."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from rest_framework import serializers

from panel.api.framework.shape import Shape, show


class Disk(Shape):
    """A shape with one field that not everyone sees."""

    name = serializers.CharField()
    serial = serializers.CharField()


def test_a_mapping_shows_what_it_has() -> None:
    assert show(Disk, {"name": "sda", "model": "X"}) == {"name": "sda"}


def test_an_object_has_every_field() -> None:
    assert show(Disk, SimpleNamespace(name="sda", serial="S1")) == {"name": "sda", "serial": "S1"}
    with pytest.raises(AttributeError):
        show(Disk, SimpleNamespace(name="sda"))
