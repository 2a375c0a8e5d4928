"""What goes into the lab's root file system, and the hash that names the result."""

import hashlib
import io
import json
import os
import tarfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.packages import LabUnavailable

FOLDER = Path(__file__).parent
BUILDER = FOLDER / "image.py"
"""What makes an image of a recipe: another one makes another image."""

MODULES = "/lib/modules/*/kernel"


@dataclass(frozen=True, slots=True)
class Recipe:
    """What recipe.toml says for one platform, plus the overlay below rootfs/ as an uncompressed
    tar. `suite` is Debian's name of the release."""

    suite: str
    size_bytes: int
    packages: list[str]
    excluded_paths: list[str]
    merges_usr: bool
    overlay: bytes
    digest: str


def chosen() -> str | None:
    """Return the platform that PLATFORM asks for; None without it."""
    return os.environ.get("PLATFORM") or None


def platforms(folder: Path = FOLDER) -> tuple[str, ...]:
    """Return the platforms that have a recipe, the default first."""
    return tuple(tomllib.loads((folder / "recipe.toml").read_text())["platforms"])


def read(folder: Path = FOLDER, platform: str | None = None) -> Recipe:
    """Read the recipe of a platform, else of the one that PLATFORM names, else of the first.

    The digest depends on contents and modes, and on how the image is built, never on dates or
    owners. Raises LabUnavailable for a platform that has no recipe.
    """
    raw = tomllib.loads((folder / "recipe.toml").read_text())
    suite = platform or chosen() or next(iter(raw["platforms"]))
    if suite not in raw["platforms"]:
        known = ", ".join(raw["platforms"])
        raise LabUnavailable(f"The lab has no platform {suite!r}. PLATFORM= takes one of: {known}.")
    modules = [
        f"{root}{MODULES}/{each}/*" for root in ("", "/usr") for each in raw["excluded_modules"]
    ]
    contents: dict[str, Any] = {
        "suite": suite,
        "size_bytes": raw["size_bytes"],
        "packages": raw["packages"],
        "excluded_paths": [*raw["excluded_paths"], *modules],
        "merges_usr": raw["platforms"][suite].get("merges_usr", False),
    }
    overlay = _overlay(folder / "rootfs", raw["masked_units"])
    parts = (json.dumps(contents).encode(), overlay, BUILDER.read_bytes())
    digest = hashlib.sha256(b"".join(parts)).hexdigest()[:16]
    return Recipe(**contents, overlay=overlay, digest=digest)


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
