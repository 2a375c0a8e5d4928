"""What all commands share: what reaches the terminal, wrong usage, completion, crashes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click
import pytest

from panel.cli.__main__ import tiercel as command_line
from panel.cli.exit_codes import ExitCode
from panel.cli.terminal import width_of
from tests.panel.cli.conftest import Tiercel
from tests.scene import HOSTILE, Scene, job

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_name_reaches_the_terminal_without_what_it_obeys(tiercel: Tiercel, there: Scene) -> None:
    # Older panels let such names in.
    there.volume.label = f"\x1b[2J\x9b31m{HOSTILE}\u202e"
    there.volume.save(update_fields=["label"])
    for command in (("volumes", "list"), ("volumes", "show", there.volume.key), ("top", "--once")):
        for more in ((), ("--json",)):
            out = tiercel(*command, *more).out
            assert not set("\x1b\x9b\u202e") & set(out)
            assert "[2J" in out


def test_on_a_terminal_of_80_columns_no_line_is_longer(
    tiercel: Tiercel, there: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    there.volume.label = "n" * 100
    there.volume.save(update_fields=["label"])
    job(there)
    monkeypatch.setattr("panel.cli.command_session.screen_width", lambda: 80)
    monkeypatch.setattr("panel.cli.top_command.screen_width", lambda: 80)
    for command in (
        ("volumes", "list"),
        ("hosts", "list"),
        ("jobs", "list"),
        ("audit",),
        ("top", "--once"),
    ):
        lines = tiercel(*command).out.splitlines()
        assert max(map(width_of, lines)) <= 80, command


def named_by_texts() -> list[Any]:
    """Every argument of a command that takes any text, as a case with the words before it."""

    def within(group: click.Group, words: tuple[str, ...]) -> Iterator[Any]:
        for name, command in sorted(group.commands.items()):
            if isinstance(command, click.Group):
                yield from within(command, (*words, name))
                continue
            places = [each for each in command.params if isinstance(each, click.Argument)]
            for n, each in enumerate(places):
                if not isinstance(each.type, click.Choice):
                    others = ["GET" if isinstance(p.type, click.Choice) else "x" for p in places]
                    case = (*words, name, *others[:n], "", *others[n + 1 :])
                    yield pytest.param(case, id=f"{' '.join((*words, name))} {each.name}")

    return list(within(command_line, ()))


@pytest.mark.parametrize("words", named_by_texts())
def test_an_argument_that_is_empty_is_refused_before_the_panel_is_asked(
    tiercel: Tiercel, words: tuple[str, ...]
) -> None:
    ran = tiercel(*words)
    assert (ran.code, ran.out) == (ExitCode.USAGE, ""), ran.error
    assert "It is empty." in ran.error


@pytest.mark.parametrize(
    "words",
    [
        ("volumes", "list", "--external-id", ""),
        ("volumes", "list", "--customer", " "),
        ("jobs", "list", "--volume", ""),
        ("orders", "list", "--volume", ""),
        ("events", "tail", "--host", ""),
        ("audit", "--volume", ""),
        ("whoami", "--panel", ""),
    ],
)
def test_an_option_that_names_something_is_refused_when_empty(
    tiercel: Tiercel, words: tuple[str, ...]
) -> None:
    ran = tiercel(*words)
    assert ran.code == ExitCode.USAGE
    assert "It is empty." in ran.error


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_completion(tiercel: Tiercel, shell: str) -> None:
    script = tiercel("completion", shell)
    assert script.code == 0 and "_TIERCEL_COMPLETE" in script.out


@pytest.mark.parametrize(
    ("words", "expected"),
    [("tiercel vol", "volumes"), ("tiercel volumes show ", None), ("tiercel hosts show w", "web1")],
)
def test_the_shell_completes_commands_and_what_the_panel_has(
    tiercel: Tiercel,
    there: Scene,
    words: str,
    expected: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("_TIERCEL_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    assert f"plain,{expected or there.volume.key}\n" in tiercel().out


def test_an_unexpected_error_ends_without_the_token(
    tiercel: Tiercel, there: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = os.environ["TIERCEL_TOKEN"]

    def fail(*arguments: object, **options: object) -> None:
        raise RuntimeError(f"header Bearer {token}")

    monkeypatch.setattr("urllib3.PoolManager.request", fail)
    monkeypatch.setenv("TIERCEL_CLI_DEBUG", "1")
    failed = tiercel("volumes", "list")
    assert failed.code == ExitCode.FAILED
    assert "RuntimeError" in failed.error and token not in failed.error


def test_a_typing_mistake_is_wrong_usage(tiercel: Tiercel) -> None:
    assert tiercel("volume").code == ExitCode.USAGE
    assert tiercel("volumes", "list", "--state", "maneged").code == ExitCode.USAGE
