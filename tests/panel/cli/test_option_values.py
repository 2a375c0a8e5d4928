"""Sizes on the command line."""

from __future__ import annotations

import click
import pytest

from panel.cli.option_values import byte_amount


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("268435456", 268435456),
        ("256M", 256 << 20),
        ("256MiB", 256 << 20),
        ("256 mib", 256 << 20),
        ("1.5G", 3 << 29),
        ("0.5k", 512),
        ("2T", 2 << 40),
        ("7B", 7),
    ],
)
def test_a_size_is_bytes_in_binary_units(text: str, amount: int) -> None:
    assert byte_amount(text) == amount


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "1e9", "10X", "0.0001k", "٣G", "G"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        byte_amount(text)
