"""The panels that a person works with: `~/.config/tiercel/panels.toml`, for its owner only.

    current = "berlin"

    [panels.berlin]
    url = "https://panel.example.org"
    token = "tcl_…"

Without the file, `TIERCEL_URL` and `TIERCEL_TOKEN` name the panel.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import re
import stat
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import click

from .exit_codes import CommandError, ExitCode

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", re.ASCII)
TOKEN: Final = re.compile(r"tcl_[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", re.ASCII)
FILE_VARIABLE: Final = "TIERCEL_CLI_CONFIG"
URL_VARIABLE: Final = "TIERCEL_URL"
TOKEN_VARIABLE: Final = "TIERCEL_TOKEN"  # noqa: S105  (a name)
CA_VARIABLE: Final = "TIERCEL_CA_FILE"
OWNER_ONLY: Final = 0o600
OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class TokenText:
    """A token, which no message and no traceback shows."""

    def __init__(self, text: str) -> None:
        # A header cannot hold anything else, and the error of one that does would show it.
        if not TOKEN.fullmatch(text):
            raise CommandError(
                "This is not a Tiercel token.",
                "A token is tcl_… with one dot in it, as shown on the page /tokens/.",
                ends_with=ExitCode.USAGE,
            )
        self._text = text

    def revealed(self) -> str:
        """For the header and the file."""
        return self._text

    def __repr__(self) -> str:
        return "<token>"

    __str__ = __repr__


@dataclass(frozen=True, slots=True)
class PanelProfile:
    """A panel: its address and the token to use."""

    name: str
    url: str
    token: TokenText
    ca_file: str = ""
    plain_http: bool = False


@dataclass(slots=True)
class PanelFile:
    """The file of panels."""

    path: Path
    current: str = ""
    panels: dict[str, PanelProfile] = field(default_factory=dict)

    def write(self) -> None:
        """Replaces the file in one step: no reader sees half of it, and only its owner may read
        it."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lines = [f"current = {_quoted(self.current)}"] if self.current else []
        for name, panel in sorted(self.panels.items()):
            lines += ["", f"[panels.{_quoted(name)}]", f"url = {_quoted(panel.url)}"]
            lines.append(f"token = {_quoted(panel.token.revealed())}")
            if panel.ca_file:
                lines.append(f"ca_file = {_quoted(panel.ca_file)}")
            if panel.plain_http:
                lines.append("plain_http = true")
        # mkstemp makes a file of mode 0600.
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write("\n".join(lines).lstrip("\n") + "\n")
            Path(name).replace(self.path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                Path(name).unlink()
            raise


def file_path() -> Path:
    """Where the file is, or would be."""
    named = os.environ.get(FILE_VARIABLE)
    return Path(named) if named else Path(click.get_app_dir("tiercel")) / "panels.toml"


def read_file() -> PanelFile:
    """The file; an empty one where there is none."""
    path = file_path()
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if os.name == "posix" and mode & OTHERS:
                raise CommandError(
                    f"Other users can read {path}, which contains tokens.",
                    f"Run: chmod 600 {path}. Revoke its tokens if other people use this machine.",
                    ends_with=ExitCode.USAGE,
                )
            content = tomllib.load(file)
    except FileNotFoundError:
        return PanelFile(path)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # The error's text has a place in the file, not what is written there.
        raise CommandError(
            f"{path} is not a TOML file: {error}", "Correct it.", ends_with=ExitCode.USAGE
        ) from None
    panels = content.get("panels", {})
    if not isinstance(panels, dict):
        raise _unusable(path, "panels")
    return PanelFile(
        path,
        str(content.get("current", "")),
        {name: _profile(path, name, values) for name, values in panels.items()},
    )


def chosen(name: str | None) -> PanelProfile:
    """The panel of this name; without one, the variables', and else the current one."""
    url, token = os.environ.get(URL_VARIABLE), os.environ.get(TOKEN_VARIABLE)
    if name is None and url and token:
        return made_profile("environment", url, token, os.environ.get(CA_VARIABLE, ""))
    file = read_file()
    wanted = name or file.current
    if not wanted:
        raise CommandError(
            "No panel is chosen.",
            f"Add one: tiercel panels add NAME URL. Or set {URL_VARIABLE} and {TOKEN_VARIABLE}.",
            ends_with=ExitCode.USAGE,
        )
    if wanted not in file.panels:
        known = ", ".join(sorted(file.panels)) or "none"
        raise CommandError(
            f"{file.path} has no panel {wanted}. It has: {known}.",
            "Add one: tiercel panels add NAME URL.",
            ends_with=ExitCode.USAGE,
        )
    return file.panels[wanted]


def made_profile(
    name: str, url: str, token: str, ca_file: str = "", *, plain_http: bool = False
) -> PanelProfile:
    """A profile of values that were typed or set; raises `CommandError`."""
    if not NAME.fullmatch(name):
        raise CommandError(
            "The name of a panel has letters and digits, and . _ - between them.",
            ends_with=ExitCode.USAGE,
        )
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.username or parts.query:
        raise CommandError(
            "This is not the address of a panel.",
            "Write it as https://panel.example.org.",
            ends_with=ExitCode.USAGE,
        )
    if parts.scheme == "http" and not plain_http and not is_loopback(parts.hostname):
        raise CommandError(
            "The token would cross the network without TLS.",
            "Write https://, or add the panel with --plain-http if you control the whole network.",
            ends_with=ExitCode.USAGE,
        )
    return PanelProfile(name, url.rstrip("/"), TokenText(token.strip()), ca_file, plain_http)


def is_loopback(host: str) -> bool:
    """The machine itself."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _profile(path: Path, name: str, values: Any) -> PanelProfile:
    if not isinstance(values, Mapping):
        raise _unusable(path, name)
    url, token, ca_file = (values.get(key, "") for key in ("url", "token", "ca_file"))
    if not all(isinstance(each, str) for each in (url, token, ca_file)):
        raise _unusable(path, name)
    return made_profile(name, url, token, ca_file, plain_http=values.get("plain_http") is True)


def _unusable(path: Path, name: str) -> CommandError:
    return CommandError(
        f"{path} has no readable entry for {name}.",
        "A panel needs url and token, and may have ca_file, as text.",
        ends_with=ExitCode.USAGE,
    )


def _quoted(text: str) -> str:
    # What JSON escapes, a TOML string escapes in the same way; DEL it does not.
    return json.dumps(text).replace("\x7f", "\\u007f")
