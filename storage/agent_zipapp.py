"""The agent as one file: a zip of its modules that Python runs.

python -m storage.agent_zipapp OUTPUT
"""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path

PACKAGE = "tiercel_agent"
SHEBANG = b"#!/usr/bin/python3 -I\n"
SOURCE = Path(__file__).parent / "agent"
MAIN = f"""import sys

if sys.argv[1:] in (["heat"], ["clean-heat"]):
    from {PACKAGE}.heat_command import heat_command as main
else:
    from {PACKAGE}.__main__ import main

sys.exit(main(sys.argv[1:]))
"""
# zip knows no time before 1980; one fixed time makes two builds of one source equal.
MOMENT = (1980, 1, 1, 0, 0, 0)


def build() -> bytes:
    """The same source gives the same bytes: nothing is compressed, and times are fixed. A host adds
    bytecode for its own Python (`storage/agent/bytecode.py`)."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as target:
        _add(target, "__main__.py", MAIN.encode())
        for path in sorted(SOURCE.rglob("*.py")):
            _add(target, f"{PACKAGE}/{path.relative_to(SOURCE).as_posix()}", path.read_bytes())
    return SHEBANG + archive.getvalue()


def _add(target: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, MOMENT)
    entry.external_attr = 0o644 << 16
    target.writestr(entry, data)


if __name__ == "__main__":
    output = Path(sys.argv[1])
    output.write_bytes(build())
    output.chmod(0o755)
