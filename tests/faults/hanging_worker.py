"""`python -m tests.faults.hanging_worker sh -c "exec celery …"`: that worker, of which each slot
hangs for ever as soon as it would take a job."""

from __future__ import annotations

import subprocess
import sys
import threading

from celery.__main__ import main

from jobs import failpoints

POINT = "claim.before"


def hang(name: str) -> None:
    """A failpoint's hook."""
    if name == POINT:
        threading.Event().wait()


if __name__ == "__main__":
    failpoints.hook = hang
    command = sys.argv[-1].removeprefix("exec ")
    # A shell alone knows what its variables are.
    words = subprocess.check_output(["sh", "-c", f"printf '%s\\n' {command}"], text=True)
    sys.argv = words.splitlines()
    main()
