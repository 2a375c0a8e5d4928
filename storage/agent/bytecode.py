"""The agent's own file gets bytecode for the Python of its host: Python keeps none for what it
imports from a zip, and would compile the whole agent at each start."""

from __future__ import annotations

import importlib.util
import io
import marshal
import zipfile
from pathlib import Path

from .realhost import RealHost

# PEP 552: this bytecode is not compared with its source, which lies beside it in the same file.
_UNCHECKED_HASH = (0b01).to_bytes(4, "little")


def add_bytecode(host: RealHost, archive: Path) -> bool:
    """Put the bytecode of this Python into a zipapp, in place of any other's, and return whether it
    was missing. Anything but a zipapp is left as it is. Raises OSError."""
    if not zipfile.is_zipfile(archive):
        return False
    with zipfile.ZipFile(archive) as source:
        shebang = archive.read_bytes()[: min(each.header_offset for each in source.infolist())]
        sources = {each: source.read(each) for each in source.infolist() if _is_source(each)}
        made = [source.read(each)[:4] for each in source.infolist() if not _is_source(each)]
    if made == [importlib.util.MAGIC_NUMBER] * len(sources):
        return False
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as target:
        for entry, text in sources.items():
            target.writestr(entry, text)
            target.writestr(f"{entry.filename}c", _bytecode(entry.filename, text))
    host.save(str(archive), shebang + output.getvalue(), 0o755)
    return True


def _is_source(entry: zipfile.ZipInfo) -> bool:
    return entry.filename.endswith(".py")


def _bytecode(name: str, source: bytes) -> bytes:
    code = compile(source, name, "exec", dont_inherit=True, optimize=0)
    digest = importlib.util.source_hash(source)
    return importlib.util.MAGIC_NUMBER + _UNCHECKED_HASH + digest + marshal.dumps(code)
