"""The agent as one file: a zip of its modules that Python runs.

python -m storage.agent_zipapp OUTPUT
"""

from __future__ import annotations

import importlib.util
import io
import marshal
import sys
import zipfile
from pathlib import Path

PACKAGE = "tiercel_agent"
SHEBANG = b"#!/usr/bin/python3 -I\n"
SOURCE = Path(__file__).parent / "agent"
MAIN = f"import sys\n\nfrom {PACKAGE}.__main__ import main\n\nsys.exit(main(sys.argv[1:]))\n"
# zip knows no time before 1980; one fixed time makes two builds of one source equal.
MOMENT = (1980, 1, 1, 0, 0, 0)
# PEP 552: this bytecode is not compared with its source, which lies beside it in the same file.
UNCHECKED_HASH = (0b01).to_bytes(4, "little")


def build() -> bytes:
    """The same source and Python release give the same bytes: nothing is compressed, times are
    fixed, and bytecode is written in marshal's version 2, whose output does not depend on how
    often an object is referred to."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as target:
        _add(target, "__main__.py", MAIN.encode())
        for path in sorted(SOURCE.rglob("*.py")):
            name, source = f"{PACKAGE}/{path.relative_to(SOURCE).as_posix()}", path.read_bytes()
            _add(target, name, source)
            _add(target, f"{name}c", _bytecode(name, source))
    return SHEBANG + archive.getvalue()


def _bytecode(name: str, source: bytes) -> bytes:
    """A host with this Python release starts from it in half the time; any other ignores it
    (another magic number) and compiles the source."""
    code = compile(source, name, "exec", dont_inherit=True, optimize=0)
    digest = importlib.util.source_hash(source)
    return importlib.util.MAGIC_NUMBER + UNCHECKED_HASH + digest + marshal.dumps(code, 2)


def _add(target: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, MOMENT)
    entry.external_attr = 0o644 << 16
    target.writestr(entry, data)


if __name__ == "__main__":
    output = Path(sys.argv[1])
    output.write_bytes(build())
    output.chmod(0o755)
