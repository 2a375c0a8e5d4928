"""`make demo` begins before Django is set up, for it makes the database first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("program", ["tests.demo.__main__", "tests.billing_simulator.__main__"])
def test_a_program_is_loaded_without_django(program: str) -> None:
    environment = {name: text for name, text in os.environ.items() if "DJANGO" not in name}
    subprocess.run(
        [sys.executable, "-c", f"import {program}"],
        cwd=Path(__file__).parents[2],
        env=environment,
        check=True,
    )
