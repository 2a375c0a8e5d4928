"""Commands within what a problem says: set apart, and copied with a button."""

from __future__ import annotations

import re

import pytest

from panel.templatetags.corrections import (
    COMMAND,
    as_lines,
    shell_lines,
    shell_lines_with_holes,
    with_code,
    with_commands,
    with_holes,
)
from storage.agent.kernel import array_state


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        (
            "Replace the failed SSD, or: lvchange --cachepolicy cleaner vg0/web. Once 0 B are "
            "dirty: lvchange --cachemode writethrough vg0/web; lvchange --cachepolicy smq vg0/web",
            [
                "lvchange --cachepolicy cleaner vg0/web",
                "lvchange --cachemode writethrough vg0/web",
                "lvchange --cachepolicy smq vg0/web",
            ],
        ),
        (
            "Unless it was stopped on purpose: echo idle > /sys/block/md0/md/sync_action",
            ["echo idle > /sys/block/md0/md/sync_action"],
        ),
        ("Stop it (mdadm --stop /dev/md0), then look.", ["mdadm --stop /dev/md0"]),
        (
            "Run: smartctl --scan; then smartctl -x for each disk.",
            ["smartctl --scan", "smartctl -x"],
        ),
        ("Check that the collector runs: manage.py doctor", ["manage.py doctor"]),
        ("Once lvs shows the volume, mdadm is not needed.", []),
        (
            "Look at `dmesg` and `ps -eo pid,stat,wchan,args | grep ' D'` on the host.",
            ["`dmesg`", "`ps -eo pid,stat,wchan,args | grep ' D'`"],
        ),
    ],
)
def test_each_command_is_found_without_the_sentence_around_it(
    text: str, commands: list[str]
) -> None:
    assert COMMAND.findall(text) == commands
    shown = with_commands(text)
    assert "`" not in shown
    assert shown.count("data-copy") == len(commands)
    assert re.sub(r"<button.*?</button>", "", shown).count("<code>") == len(commands)


def test_what_backticks_mark_in_a_message_is_set_as_code() -> None:
    assert (
        with_code("`lvs -a` (pid 12) hangs <b>") == "<code>lvs -a</code> (pid 12) hangs &lt;b&gt;"
    )


def test_what_a_host_says_is_escaped() -> None:
    assert "<b>" not in with_commands("mdadm --stop /dev/<b>md0</b>")


def test_a_disk_that_failed_is_taken_out_before_another_one_is_added() -> None:
    members = [
        {"name": "sda", "state": "in_sync", "slot": "0"},
        {"name": "sdb", "state": "faulty", "slot": "none"},
    ]
    array = {
        "name": "md0", "level": "raid1", "state": "clean", "disk_count": 2, "degraded_count": 1,
        "sync_action": "idle", "container": "", "members": members,
    }  # fmt: skip
    trouble = array_state.trouble_of(array)
    assert trouble is not None
    assert COMMAND.findall(trouble.correction) == [
        "mdadm --manage /dev/md0 --remove failed",
        "mdadm --manage /dev/md0 --add /dev/NEW",
    ]


def test_what_only_the_step_knows_is_marked_in_a_command() -> None:
    shown = with_holes("lvchange --addtag tiercel.<each range that is left> vg0/web")
    assert '<em class="command-hole" title="known when the step runs">&lt;each range' in shown
    assert "<em" not in with_holes("echo idle > /sys/block/md0/md/sync_action")


def test_commands_stand_on_a_line_each_with_how_they_ended() -> None:
    commands = [{"shell": "lvs <x>", "rc": 5}, {"shell": "true", "rc": 0}, {"shell": "cat a > b"}]
    assert shell_lines(commands) == (
        'lvs &lt;x&gt;<span class="command-rc command-bad">  # exit 5</span>\n'
        'true<span class="command-rc">  # exit 0</span>\ncat a &gt; b'
    )
    assert 'class="command-hole"' in shell_lines_with_holes(commands)
    assert as_lines(["lvs", "a > b"]) == "lvs\na &gt; b"
