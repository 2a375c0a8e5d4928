"""The browsers that tests and pictures can be made with, as Debian packages and programs."""

import shutil

PROGRAMS = ("chromium-headless-shell", "chromium")
"""The first is the same Chromium without windows: a page costs a third of the work there."""


def program() -> str | None:
    """Return the path of the first that this machine has."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)
