"""What goes into the lab's root file system, and the hash that names the result."""

import hashlib
import io
import tarfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Recipe:
    """The parsed recipe.toml plus the overlay below rootfs/ as an uncompressed tar."""

    suite: str
    size_bytes: int
    packages: tuple[str, ...]
    excluded_paths: tuple[str, ...]
    overlay: bytes
    digest: str


def read(folder: Path = FOLDER) -> Recipe:
    """Read the recipe. The digest depends on contents and modes only, never on dates or owners."""
    text = (folder / "recipe.toml").read_bytes()
    raw = tomllib.loads(text.decode())
    overlay = _overlay(folder / "rootfs", raw["masked_units"])
    return Recipe(
        suite=raw["suite"],
        size_bytes=raw["size_bytes"],
        packages=tuple(raw["packages"]),
        excluded_paths=tuple(raw["excluded_paths"]),
        overlay=overlay,
        digest=hashlib.sha256(text + overlay).hexdigest()[:16],
    )


def _overlay(root: Path, masked_units: list[str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in sorted(root.rglob("*")):
            if path.is_dir():
                continue
            entry = tarfile.TarInfo(str(path.relative_to(root)))
            entry.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
            content = path.read_bytes()
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        for unit in sorted(masked_units):
            entry = tarfile.TarInfo(f"etc/systemd/system/{unit}")
            entry.type = tarfile.SYMTYPE
            entry.linkname = "/dev/null"
            archive.addfile(entry)
    return buffer.getvalue()
