"""`tiercel`: the commands, and how they end."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence

import click
from click.shell_completion import get_completion_class

from . import VERSION
from .benchmark_commands import benchmark_group
from .cache_commands import cache_group
from .event_commands import events_group
from .exit_codes import CommandError, ExitCode
from .gate_commands import gate_group
from .host_commands import hosts_group
from .job_commands import audit, jobs_group
from .order_commands import list_plans, orders_group, show_calibration
from .panel_commands import panels_group, whoami
from .panel_profiles import TOKEN, TOKEN_VARIABLE
from .raw_command import call_api
from .terminal import plain
from .top_command import top
from .trace_commands import list_traces, trace_volume
from .volume_commands import volumes_group

PROGRAM = "tiercel"
COMPLETION_VARIABLE = "_TIERCEL_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(context_settings=SETTINGS)
@click.version_option(VERSION, prog_name=PROGRAM)
def tiercel() -> None:
    """Storage hosts, volumes and their caches, by the API of a panel.

    Begin with `tiercel panels add NAME URL`. Exit codes: 0 done, 1 the job failed, 2 wrong usage,
    3 refused, 4 not found, 5 not allowed, 6 something is in the way, 7 no answer, 8 a job needs
    attention, 9 waited too long.
    """


@tiercel.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def completion_script(shell: str) -> None:
    """Write the completion script of a shell.

    bash: eval "$(tiercel completion bash)"
    """
    script_of = get_completion_class(shell)
    if script_of is None:
        raise click.UsageError(f"There is no completion for {shell}.")
    click.echo(script_of(tiercel, {}, PROGRAM, COMPLETION_VARIABLE).source())


for command in (
    panels_group,
    whoami,
    hosts_group,
    volumes_group,
    cache_group,
    benchmark_group,
    gate_group,
    jobs_group,
    orders_group,
    list_plans,
    show_calibration,
    events_group,
    top,
    audit,
    call_api,
):
    tiercel.add_command(command)
for command in (trace_volume, list_traces):
    volumes_group.add_command(command)


def run_command_line(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = tiercel.main(
            list(arguments) if arguments is not None else None,
            prog_name=PROGRAM,
            complete_var=COMPLETION_VARIABLE,
            standalone_mode=False,
        )
        sys.stdout.flush()
        return code if isinstance(code, int) else ExitCode.DONE
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except CommandError as error:
        error.show()
        return error.ends_with
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Ended.", err=True)
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe; Python would report that once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.DONE
    except Exception as error:
        click.echo(f"{PROGRAM}: {plain(redacted(f'{type(error).__name__}: {error}'))}", err=True)
        if os.environ.get("TIERCEL_CLI_DEBUG"):
            click.echo(redacted(traceback.format_exc()), err=True)
        return ExitCode.FAILED


def redacted(text: str) -> str:
    """The text without any token."""
    token = os.environ.get(TOKEN_VARIABLE)
    if token:
        text = text.replace(token, "<token>")
    return TOKEN.sub("<token>", text)


def main() -> None:
    """The program."""
    sys.exit(run_command_line())


if __name__ == "__main__":
    main()
