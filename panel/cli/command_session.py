"""What every command that asks a panel shares: its options, its client, and how it prints."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec

import click
from click.shell_completion import CompletionItem

from .exit_codes import CommandError, ExitCode
from .panel_client import Json, PanelClient, part
from .panel_profiles import chosen, read_file
from .terminal import Column, json_text, plain, screen_width, table

Parameters = ParamSpec("Parameters")
KEY: Final = re.compile(r"[a-z2-7]{16}")
"""Of a volume, a host, a job: what the panel's addresses end with."""
MOST_COMPLETIONS: Final = 50
FIRST_ITEMS: Final = 100


# Generic since click 8.5; the wheel runs with 8.2.
class NameType(click.ParamType):  # type: ignore[type-arg]
    """A text that names an object. An empty one, as from an unset variable of a script, is refused
    before any request."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text."""
        if not value.strip():
            self.fail("It is empty.", param, ctx)
        return value


NAME: Final = NameType()


class NamedPath(click.Path):
    """A file that is there, by its name, which is not empty."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        return super().convert(NAME.convert(str(value), param, ctx), param, ctx)


class NamedFile(click.File):
    """A file to read or to write, by its name, which is not empty."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The open file."""
        named = NAME.convert(value, param, ctx) if isinstance(value, str) else value
        return super().convert(named, param, ctx)


class CommandSession:
    """One command at one panel."""

    def __init__(self, panel_name: str | None, *, as_json: bool) -> None:
        self.as_json = as_json
        self._panel_name = panel_name
        self._client: PanelClient | None = None

    @property
    def client(self) -> PanelClient:
        """The chosen panel; raises `CommandError` where none is."""
        if self._client is None:
            self._client = PanelClient(chosen(self._panel_name))
        return self._client

    def show(self, value: object, lines: Iterable[str]) -> None:
        """The result: the value as JSON, or the lines."""
        if self.as_json:
            click.echo(json_text(value, indent=2))
        else:
            for line in lines:
                click.echo(line)

    def show_table(self, rows: Sequence[Json], columns: Sequence[Column], nothing: str) -> None:
        """A list, or the sentence that there is nothing."""
        lines = table(rows, columns, width=screen_width()) if rows else [nothing]
        self.show(rows, lines)

    def note(self, text: str) -> None:
        """A remark for people, on standard error."""
        if not self.as_json:
            click.echo(plain(text), err=True)

    def listed(self, path: str, most: int | None, **query: object) -> list[Json]:
        """The items of a list, with a note if there are more."""
        rows = list(self.client.items(path, most and most + 1, **query))
        if most is not None and len(rows) > most:
            rows.pop()
            self.note(
                f"Showing the first {most}; use --all for all, or --limit for another number."
            )
        return rows

    def volume_key(self, name: str) -> str:
        """The key of a volume that is named by its key or its external id."""
        if KEY.fullmatch(name):
            return name
        found_rows = self.client.get("/volumes/", external_id=name, limit=2)["items"]
        if not found_rows:
            raise CommandError(
                f"No volume has the key or the external id {plain(name)}.",
                "List volumes: tiercel volumes list.",
                ends_with=ExitCode.NOT_FOUND,
            )
        if len(found_rows) > 1:
            raise CommandError(
                f"Several volumes have the external id {plain(name)}.",
                "Give the key of the volume: tiercel volumes list.",
                ends_with=ExitCode.NOT_FOUND,
            )
        return str(found_rows[0]["key"])

    def host_key(self, name: str) -> str:
        """The key of a host that is named by its key or its name."""
        hosts = list(self.client.items("/hosts/", None))
        keys = [each["key"] for each in hosts if name in (each["key"], each["name"])]
        if len(keys) != 1:
            raise CommandError(
                f"{'No host has' if not keys else 'Several hosts have'} the name {plain(name)}.",
                "List hosts with their keys: tiercel hosts list.",
                ends_with=ExitCode.NOT_FOUND,
            )
        return str(keys[0])

    def plan_key(self, name: str) -> str:
        """The key of a cache plan that is named by its key or its name."""
        plans = list(self.client.items("/cache-plans/", None))
        keys = [each["key"] for each in plans if name in (each["key"], each["name"])]
        if len(keys) != 1:
            names = ", ".join(each["name"] for each in plans) or "none"
            raise CommandError(
                f"{'No plan is' if not keys else 'Several plans are'} called {plain(name)}.",
                f"The plans are: {plain(names)}.",
                ends_with=ExitCode.NOT_FOUND,
            )
        return str(keys[0])


def asks_the_panel(
    command: Callable[Concatenate[CommandSession, Parameters], None],
) -> Callable[..., None]:
    """Give a command `--panel`, `--json` and, as its first argument, its session."""

    @click.option("--json", "as_json", is_flag=True, help="Write JSON, including errors.")
    @click.option(
        "--panel",
        "panel_name",
        type=NAME,
        envvar="TIERCEL_PANEL",
        shell_complete=complete_panel,
        help="A panel of `tiercel panels list`.  [default: the current one]",
    )
    @functools.wraps(command)
    def asking(*, panel_name: str | None, as_json: bool, **options: Any) -> None:
        try:
            command(CommandSession(panel_name, as_json=as_json), **options)  # type: ignore[call-arg]
        except CommandError as error:
            error.as_json = as_json
            raise

    return asking


def complete_panel(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of panels."""
    try:
        panels = read_file().panels.values()
    except (CommandError, OSError):
        return []
    return [
        CompletionItem(each.name, help=each.url)
        for each in panels
        if each.name.startswith(incomplete)
    ]


def completed_from(
    path: str, value: str, help_text: str
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Completion with a field of what a list has. A shell that waits in vain shows nothing."""

    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        try:
            client = PanelClient(chosen(ctx.params.get("panel_name")))
            rows = client.get(path, limit=MOST_COMPLETIONS)["items"]
        except (CommandError, OSError):
            return []
        return [
            CompletionItem(plain(row[value]), help=plain(row.get(help_text, "")))
            for row in rows
            if str(row[value]).startswith(incomplete)
        ]

    return complete


def listing(command: Callable[..., None]) -> Callable[..., None]:
    """Give a list `--limit` and `--all`, as `most`."""

    @click.option(
        "--limit",
        type=click.IntRange(1),
        default=FIRST_ITEMS,
        show_default=True,
        help="Maximum number of items.",
    )
    @click.option("--all", "lists_all", is_flag=True, help="Show all items.")
    @functools.wraps(command)
    def limited(*arguments: Any, limit: int, lists_all: bool, **options: Any) -> None:
        command(*arguments, most=None if lists_all else limit, **options)

    return limited


def confirmed(question: str, *, is_sure: bool) -> None:
    """Ask for confirmation; raises `CommandError` without a terminal, and `Abort` on a no."""
    if is_sure:
        return
    if not sys.stdin.isatty():
        raise CommandError(
            "This needs confirmation, and standard input is not a terminal.",
            "Give --yes if you are sure.",
            ends_with=ExitCode.USAGE,
        )
    click.confirm(question, abort=True, err=True)


def path_of(*parts: str) -> str:
    """An address below the API's root."""
    return "".join(f"/{part(each)}" for each in parts)


yes_option = click.option(
    "--yes", "-y", "is_sure", is_flag=True, help="Do not ask for confirmation."
)
wait_options = (
    click.option("--wait", "waits", is_flag=True, help="Wait until the job has ended."),
    click.option(
        "--timeout",
        type=click.FloatRange(0, min_open=True),
        help="Wait at most this many seconds; the job continues.",
    ),
    click.option(
        "--idempotency-key",
        "request_key",
        default="",
        help="Repeat the command with this key safely.",
    ),
)


def waiting(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--wait`, `--timeout` and `--idempotency-key`."""
    for option in reversed(wait_options):
        command = option(command)
    return command
