"""`tiercel panels`: the panels of the file, and who one is there."""

from __future__ import annotations

import os
import sys

import click

from .command_session import NAME, CommandSession, asks_the_panel, complete_panel
from .exit_codes import CommandError, ExitCode
from .panel_client import PanelClient
from .panel_profiles import TOKEN_VARIABLE, made_profile, read_file
from .terminal import Column, json_text, pairs, screen_width, shown_time, table


@click.group("panels", help="The panels you use, and the current one.")
def panels_group() -> None:
    """The panels of the file."""


@panels_group.command("list")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def list_panels(as_json: bool) -> None:
    """List panels, without their tokens."""
    file = read_file()
    rows = [
        {"name": each.name, "url": each.url, "current": each.name == file.current}
        for each in file.panels.values()
    ]
    if as_json:
        click.echo(json_text(rows, indent=2))
        return
    columns = (
        Column("", lambda row: "*" if row["current"] else " "),
        Column("NAME", lambda row: row["name"]),
        Column("URL", lambda row: row["url"]),
    )
    lines = table(rows, columns, width=screen_width()) if rows else ["No panels yet."]
    click.echo("\n".join(lines))


@panels_group.command("add")
@click.argument("name", type=NAME)
@click.argument("url", type=NAME)
@click.option("--ca-file", default="", help="CA certificates to trust instead of the system's.")
@click.option("--plain-http", is_flag=True, help="Send the token without TLS.")
def add_panel(name: str, url: str, ca_file: str, plain_http: bool) -> None:
    """Add or replace a panel and make it the current one.

    Asks for the token and does not show it; a script pipes it to standard input, or sets
    TIERCEL_TOKEN. The panel checks the token.
    """
    file = read_file()
    profile = made_profile(name, url, _typed_token(), ca_file, plain_http=plain_http)
    root = PanelClient(profile).get("/")
    file.panels[name] = profile
    file.current = name
    file.write()
    click.echo(f"{name} is the current panel. You are {root['user']} there.")


@panels_group.command("use")
@click.argument("name", type=NAME, shell_complete=complete_panel)
def use_panel(name: str) -> None:
    """Make a panel the current one."""
    file = read_file()
    _demand_known(name, name in file.panels)
    file.current = name
    file.write()


@panels_group.command("remove")
@click.argument("name", type=NAME, shell_complete=complete_panel)
def remove_panel(name: str) -> None:
    """Remove a panel and its token from this machine. The token stays valid: revoke it at
    /tokens/."""
    file = read_file()
    _demand_known(name, file.panels.pop(name, None) is not None)
    if file.current == name:
        file.current = ""
    file.write()


@click.command("whoami")
@asks_the_panel
def whoami(session: CommandSession) -> None:
    """Show the panel, the person and the scopes of the token."""
    root = session.client.get("/")
    lines = pairs(
        [
            ("panel", session.client.profile.url),
            ("version", root["version"]),
            ("user", root["user"]),
            ("scopes", ", ".join(root["scopes"])),
            ("expires", shown_time((root.get("token") or {}).get("expires_at"))),
        ]
    )
    session.show(root, lines)


def _typed_token() -> str:
    if token := os.environ.get(TOKEN_VARIABLE):
        return token
    if sys.stdin.isatty():
        return str(click.prompt("Token", hide_input=True, err=True))
    return sys.stdin.readline().strip()


def _demand_known(name: str, is_known: bool) -> None:
    if not is_known:
        raise CommandError(
            f"There is no panel {name}.",
            "List them: tiercel panels list.",
            ends_with=ExitCode.USAGE,
        )
