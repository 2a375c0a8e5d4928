"""Sizes on the command line."""

from __future__ import annotations

import re
from typing import Final

import click

UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
AMOUNT: Final = re.compile(
    r"(\d{1,15})(?:\.(\d{1,6}))?\s*([kmgtp]?)(?:i?b)?", re.ASCII | re.IGNORECASE
)


def byte_amount(text: str) -> int:
    """Whole bytes of `256M`, `1.5GiB`, `268435456`: binary units, as LVM counts. Raises
    `BadParameter`."""
    match = AMOUNT.fullmatch(text.strip())
    if match is None:
        raise click.BadParameter(f"{text!r} is no size: write 256M, 1.5GiB or a number of bytes.")
    whole, fraction, unit = match[1], match[2] or "", match[3].lower()
    scaled, divisor = int(whole + fraction) * UNITS[unit], int("1" + "0" * len(fraction))
    amount, rest = divmod(scaled, divisor)
    if rest or amount < 1:
        raise click.BadParameter(f"{text!r} is not a whole number of bytes above 0.")
    return amount
