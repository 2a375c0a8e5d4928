"""`python -m tests.cli_wheel FOLDER`: the command line as a wheel. From a copy, for setuptools
leaves its own files beside the sources."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCES = Path(__file__).parent.parent / "panel" / "cli"


def build(folder: Path) -> Path:
    """The wheel, in this folder. Nothing is fetched."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "cli"
        shutil.copytree(SOURCES, copy, ignore=shutil.ignore_patterns("__pycache__"))
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "wheel",
                "--quiet",
                "--no-deps",
                "--no-index",
                "--disable-pip-version-check",
                "--no-build-isolation",
                "--wheel-dir",
                folder,
                copy,
            ],
            check=True,
        )
    (wheel,) = folder.glob("tiercel_cli-*.whl")
    return wheel


if __name__ == "__main__":
    print(build(Path(sys.argv[1])))
