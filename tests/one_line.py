"""Pages as text in which a line break counts as a space, as it does for a browser."""

import re


def on_one_line(page: str) -> str:
    """The page with one space for each run of white space; a space that does not break stays."""
    return re.sub(r"[ \t\n]+", " ", page)
