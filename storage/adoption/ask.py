"""Parses a request for adoption: rows of a CSV file, or a name pattern. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Final

from storage.adoption.judge import AdoptionQuestion, Candidate

COLUMNS: Final = ("volume", "customer")
OPTIONAL: Final = ("external_id", "label")
LIMITS: Final = {"volume": 320, "customer": 200, "external_id": 64, "label": 200}
"""Characters per column."""
MAX_ROWS: Final = 2000
MAX_BYTES: Final = 1024**2


class BadCsv(ValueError):
    """The file cannot be used at all; `line` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"Line {line}: {message}")
        self.line = line


def read_csv(data: bytes) -> tuple[AdoptionQuestion, ...]:
    """The rows of a CSV file in UTF-8 with the columns volume, customer and, if you like,
    external_id and label; separated by commas or semicolons. A row that cannot be used says so
    (`problem`) and keeps no other back; a file that cannot be read raises `BadCsv`."""
    if len(data) > MAX_BYTES:
        raise BadCsv(1, f"the file is larger than {MAX_BYTES // 1024} KiB. Split the file.")
    text = _text(data)
    head = text.split("\n", 1)[0]
    separator = ";" if ";" in head and "," not in head else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    return tuple(_checked(_rows(reader)))


def asked_by_pattern(
    candidates: Iterable[Candidate], pattern: str, customer: str | None
) -> tuple[AdoptionQuestion, ...]:
    """Every volume whose LV name or guest matches the glob; `customer` None takes the customer's
    name from the guest's."""
    return tuple(
        AdoptionQuestion(
            line,
            candidate.lv_uuid,
            candidate.guest_names[0] if customer is None and candidate.guest_names else
            customer or "",
            by_pattern=True,
        )
        for line, candidate in enumerate(
            (each for each in candidates if matches(each, pattern)), start=1
        )
    )  # fmt: skip


def matches(candidate: Candidate, pattern: str) -> bool:
    """Whether a glob (`web*`, `vm-1??-disk-0`) matches the LV's name or a guest's."""
    names = (candidate.lv_name, candidate.guest, *candidate.guest_names)
    return any(fnmatchcase(name, pattern) for name in names if name)


def _text(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadCsv(line, "not UTF-8. Save the file as CSV UTF-8.") from error
    for number, line_text in enumerate(text.split("\n"), start=1):
        odd = next((c for c in line_text if not c.isprintable() and c not in "\t\r"), None)
        if odd is not None:
            raise BadCsv(number, f"the character U+{ord(odd):04X} is not allowed.")
    return text


def _rows(reader: Iterator[list[str]]) -> Iterator[tuple[int, dict[str, str] | str]]:
    """(line, column -> value, or what is wrong) of each row that is not empty."""
    line = 1
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        _check_header(header)
        for row in reader:
            line = reader.line_num  # type: ignore[attr-defined]  # a csv.reader has it
            values = [value.strip() for value in row]
            if not any(values):
                continue
            if len(values) != len(header):
                yield line, f"{_fields(len(values))}, expected {len(header)}."
            else:
                yield line, dict(zip(header, values, strict=True))
    except csv.Error as error:
        raise BadCsv(line, f"not CSV ({error}).") from error


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"


def _check_header(header: list[str]) -> None:
    wanted = ",".join(COLUMNS)
    missing = [name for name in COLUMNS if name not in header]
    unknown = [name for name in header if name not in COLUMNS + OPTIONAL]
    if missing or unknown or len(set(header)) != len(header):
        raise BadCsv(1, f"expected header {wanted}[,{','.join(OPTIONAL)}].")


def _checked(rows: Iterable[tuple[int, dict[str, str] | str]]) -> Iterator[AdoptionQuestion]:
    seen: dict[tuple[str, str], int] = {}
    count = 0
    for line, row in rows:
        count += 1
        if count > MAX_ROWS:
            raise BadCsv(line, f"more than {MAX_ROWS} rows. Split the file.")
        if isinstance(row, str):
            yield AdoptionQuestion(line, "", "", problem=row)
            continue
        yield AdoptionQuestion(
            line,
            row["volume"],
            row["customer"],
            row.get("external_id", ""),
            row.get("label", ""),
            problem=_problem(line, row, seen),
        )
    if not count:
        raise BadCsv(1, "there are no rows below the header.")


def _problem(line: int, row: dict[str, str], seen: dict[tuple[str, str], int]) -> str:
    """What is wrong with a row, "" for nothing. `seen` is what the rows before it named."""
    for name, value in row.items():
        if len(value) > LIMITS[name]:
            return f"{name} has more than {LIMITS[name]} characters."
    if not row["volume"]:
        return "the volume is missing."
    for name in ("volume", "external_id"):
        value = row.get(name, "")
        first = seen.setdefault((name, value), line) if value else line
        if first != line:
            return f"the {name} {value} is already in line {first}."
    return ""


__all__ = ["COLUMNS", "AdoptionQuestion", "BadCsv", "asked_by_pattern", "matches", "read_csv"]
