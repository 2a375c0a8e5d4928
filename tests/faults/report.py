"""docs/faults.md, a page of figures, and the whole list: every fault, what was expected, what
happened, how long recovery took."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from panel.operations.local_services import CHECKOUT
from tests.faults.fault import Outcome

PATH = CHECKOUT / "docs" / "faults.md"
LIST_PATH = CHECKOUT / "var" / "faults.md"
EXAMPLES = 3
INTRODUCTION = """\
# The fault suite

Written by `make faults`; do not edit. The list with one line for each fault is `var/faults.md`
after a run. Each fault is one run of a whole job, through real PostgreSQL, worker processes and
SSH, with one thing broken at one exact moment: on a simulated storage host (stateful models of LVM
and bcache under the agent's own code), or in the lab, a Debian machine with a real kernel, LVM,
bcache, udev and sshd, whose processor is emulated and whose disks lie on layers that can be broken.
Leases last 3 s here and pauses 4 s.

Survived means that all of this holds afterwards:

- the job is done, undone, or before a person, with a list of what is left; never silently lost;
- no operation id was executed twice, and no two LVM commands changed a volume group at once;
- the fencing tokens of a volume group were accepted in rising order;
- other volumes keep uuid, size, tags, place and content, and every extent that a guest had
  written to the volume is still there;
- a job that says “failed” left everything as it was before;
- a job that says “succeeded” left the host as wished and nothing over;
- every operation the host accepted has one intent and one outcome in the audit trail;
- of alerts (A01), recipients got each message once, and no end before its beginning; ten
  minutes pass there in one, because what is stored is moved into the past;
- all this within 60 s of the fault, or, in the lab, of the moment when the host is whole again (a
  backlog of 20 to 200 jobs, a mail that was refused before, and a job after a restart in the lab,
  may take longer).
"""


def write(
    outcomes: Sequence[Outcome],
    red: Mapping[str, list[str]],
    not_played: Mapping[str, str],
    every: int = 1,
    path: Path = PATH,
    list_path: Path = LIST_PATH,
) -> dict[str, object]:
    """Write the page and the list, return the summary of the last line. `every`: of the sweep,
    only each fault of that distance was played."""
    counted = [outcome for outcome in outcomes if outcome.reached]
    lost = [outcome for outcome in counted if not outcome.survived]
    summary: dict[str, object] = {
        "total": len(counted),
        "survived": len(counted) - len(lost),
        "by_id": _by_id(counted),
        "mutation_red": sum(bool(problems) for problems in red.values()),
        "max_recovery_s": round(max((o.recovery_s for o in counted), default=0.0), 1),
    }
    head = [
        INTRODUCTION,
        f"**{summary['survived']} of {len(counted)} faults survived**, the slowest recovery took "
        f"{summary['max_recovery_s']} s.\n",
    ]
    if lost:
        head += ["## Not survived\n", _table(lost)]
    sweep_note = (
        "Each operation was broken at each point it passes: `kill` (SIGKILL), `raise`"
        "\n(an unexpected exception, or a full disk on the host), `pause` (longer than a lease),"
        "\n`drop` (the database connection is gone).\n"
    )
    partly = f"Played was every {every}th of them.\n" if every > 1 else ""
    tail = [
        "## The suite itself\n",
        "With one guard taken out, the suite must turn red:\n",
        _mutations(red),
    ]
    if not_played:
        tail += ["## Not played here\n", _not_played(not_played)]
    in_lab = [each for each in counted if each.fault.in_lab]
    named = [each for each in counted if each.fault.id and not each.fault.in_lab]
    swept = [each for each in counted if not each.fault.id]
    path.write_text(
        "\n".join(
            [
                *head,
                "## Named faults\n",
                _figures(named, lambda outcome: outcome.fault.id),
                "## Named faults in the lab\n",
                _figures(in_lab, lambda outcome: outcome.fault.id),
                "## The sweep\n",
                sweep_note,
                partly,
                _figures(swept, _operation),
                *tail,
            ]
        )
    )
    list_path.parent.mkdir(exist_ok=True)
    list_path.write_text(
        "\n".join(
            [
                *head,
                "## Named faults\n",
                _table(named),
                "## Named faults in the lab\n",
                _table(in_lab),
                "## The sweep\n",
                sweep_note + "“#2” is the second time the point was passed.\n",
                partly,
                _table(swept),
                *tail,
            ]
        )
    )
    return summary


def last_line(summary: Mapping[str, object]) -> str:
    return f"FAULTS {json.dumps(summary)}"


def _by_id(outcomes: Sequence[Outcome]) -> dict[str, str]:
    survived: dict[str, list[bool]] = {}
    for outcome in outcomes:
        survived.setdefault(outcome.fault.id or "sweep", []).append(outcome.survived)
    return {name: f"{sum(each)}/{len(each)}" for name, each in sorted(survived.items())}


def _operation(outcome: Outcome) -> str:
    return outcome.fault.name.partition(": ")[0]


def _figures(outcomes: Sequence[Outcome], key: Callable[[Outcome], str]) -> str:
    """One row for each key: what is broken, what was expected, how many were survived."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(key(outcome), []).append(outcome)
    rows = ["| | Broken | Expected | Survived | Slowest |", "|---|---|---|---|---|"]
    for name, group in sorted(groups.items()):
        names = [outcome.fault.name for outcome in group]
        broken = _some(each.partition(": ")[2] or each for each in names)
        expected = _some(outcome.fault.expected for outcome in group)
        survived = sum(outcome.survived for outcome in group)
        slowest = max(outcome.recovery_s for outcome in group)
        cells = (name, broken, expected, f"{survived} of {len(group)}", f"{slowest:.1f} s")
        rows.append("| " + " | ".join(_cell(each) for each in cells) + " |")
    return "\n".join(rows) + "\n"


def _some(texts: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(texts))
    rest = len(distinct) - EXAMPLES
    return "; ".join(distinct[:EXAMPLES]) + (f"; {rest} more" if rest > 0 else "")


def _table(outcomes: Sequence[Outcome]) -> str:
    rows = ["| Fault | Expected | Happened | Recovery |", "|---|---|---|---|"]
    for outcome in outcomes:
        fault = outcome.fault
        name = f"{fault.id} {fault.name}".strip()
        happened = outcome.happened if outcome.survived else _lost(outcome)
        cells = (name, fault.expected, happened, f"{outcome.recovery_s:.1f} s")
        rows.append("| " + " | ".join(_cell(each) for each in cells) + " |")
    return "\n".join(rows) + "\n"


def _lost(outcome: Outcome) -> str:
    # Without the trace of a fault that could not be played, and without this machine's folders.
    problems = [
        problem.partition("\nTraceback")[0].replace(f"{CHECKOUT}/", "")
        for problem in outcome.problems
    ]
    return f"**NOT SURVIVED** {outcome.happened}: {'; '.join(problems)}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")[:600]


def _mutations(red: Mapping[str, list[str]]) -> str:
    rows = ["| Taken out | Result | Noticed |", "|---|---|---|"]
    for name, problems in red.items():
        result = "red" if problems else "**GREEN: the suite is blind to it**"
        rows.append(f"| {name} | {result} | {_cell('; '.join(problems))} |")
    return "\n".join(rows) + "\n"


def _not_played(reasons: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {why}" for name, why in reasons.items()) + "\n"
