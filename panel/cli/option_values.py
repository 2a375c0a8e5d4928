"""Values of options: sizes, and the time of day in which a job begins."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from .exit_codes import CommandError, ExitCode
from .panel_client import Json

Command = TypeVar("Command", bound=Callable[..., Any])
WINDOW: Final = re.compile(r"(\d\d:\d\d)-(\d\d:\d\d)")
NONE: Final = "none"
UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
AMOUNT: Final = re.compile(
    r"(\d{1,15})(?:\.(\d{1,6}))?\s*([kmgtp]?)(?:i?b)?", re.ASCII | re.IGNORECASE
)


def window_options(command: Command) -> Command:
    """`--window` and `--zone` of a command."""
    zone = click.option("--zone", default="UTC", show_default=True, help="Time zone of the window.")
    window = click.option(
        "--window",
        metavar="WINDOW",
        help="Window such as 02:00-05:00, or none. [default: the host's]",
    )
    return window(zone(command))


def chosen_window(text: str | None, zone: str) -> Json:
    """What a request says of the window; raises `CommandError`."""
    if text is None:
        return {}
    return {"window": None if text == NONE else read_window(text, zone)}


def read_window(text: str, zone: str) -> Json:
    """The window as a body of the API; raises `CommandError`."""
    times = WINDOW.fullmatch(text)
    if times is None:
        raise CommandError("Give the window as 02:00-05:00.", ends_with=ExitCode.USAGE)
    return {"start": times[1], "end": times[2], "zone": zone}


def window_text(window: Json | None) -> str:
    """The window of a job in a line; "" for none."""
    return f"{window['start']}-{window['end']} {window['zone']}" if window else ""


def byte_amount(text: str) -> int:
    """Whole bytes of `256M`, `1.5GiB`, `268435456`: binary units, as LVM counts. Raises
    `BadParameter`."""
    match = AMOUNT.fullmatch(text.strip())
    if match is None:
        raise click.BadParameter(
            f"{text!r} is not a size: write 256M, 1.5GiB or a number of bytes."
        )
    whole, fraction, unit = match[1], match[2] or "", match[3].lower()
    scaled, divisor = int(whole + fraction) * UNITS[unit], int("1" + "0" * len(fraction))
    amount, rest = divmod(scaled, divisor)
    if rest or amount < 1:
        raise click.BadParameter(f"{text!r} is not a whole number of bytes above 0.")
    return amount
