"""Pages as text in which it does not matter where a line or a tag is broken, as for a browser."""

import re


def on_one_line(page: str) -> str:
    """The page with one space for each run of white space, and none before the end of a tag. A
    space that does not break stays."""
    return re.sub(r"[ \t\n]+", " ", page).replace(" >", ">")
