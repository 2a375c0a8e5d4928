"""Files as an operator has them, and what each of them is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from storage.fio import log_rows, terse, text_output, yabs
from storage.fio.json_output import read_json
from storage.fio.log_checks import checked_logs
from storage.fio.results import FioRefusal, Imported, Remark
from storage.fio.run_remarks import reported_errors
from storage.fio.values import clean

FILE_BYTES: Final = 32 * 1024**2
ALL_BYTES: Final = 128 * 1024**2
FILES: Final = 500

_PACKED: Final = (
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "packed by gzip"),
    (b"\xfd7zXZ", "packed by xz"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd"),
    (b"BZh", "packed by bzip2"),
)
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")


def read_outputs(files: Mapping[str, bytes]) -> Imported:
    """What a set of files holds. No content makes it fail: what cannot be read is a refusal."""
    if len(files) > FILES or sum(map(len, files.values())) > ALL_BYTES:
        sentence = f"At most {FILES} files of {ALL_BYTES >> 20} MiB together are read at once."
        return Imported(refusals=(Remark("too-much", sentence),))
    result = Imported()
    for name, content in sorted(files.items(), key=lambda item: _natural(item[0])):
        file = clean(name)
        try:
            result += _read_file(file, _text(file, content))
        except FioRefusal as refusal:
            result += Imported(refusals=(refusal.remark(file),))
    return checked_logs(result)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """So that job 10 comes after job 2."""
    return [
        (0, int(part), "") if part.isdecimal() and len(part) < 20 else (1, 0, part)
        for part in re.split(r"([0-9]+)", name)
    ]


def _text(file: str, content: bytes) -> str:
    if len(content) > FILE_BYTES:
        raise FioRefusal("too-large", f"The file is larger than {FILE_BYTES >> 20} MiB.")
    if file.endswith(".fz"):
        raise FioRefusal("packed", "The log is packed: run fio --inflate-log first.")
    for start, words in _PACKED:
        if content.startswith(start):
            raise FioRefusal("packed", f"The file is {words}: unpack it first.")
    encoding = "utf-16" if content.startswith(_UTF16) else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        sentence = f"The file is not text in UTF-8 (byte {error.start})."
        raise FioRefusal("not-text", sentence) from error
    if "\0" in text:
        raise FioRefusal("not-text", "The file is not text: it has zero bytes.")
    text = _COLOUR.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    if not text.strip():
        raise FioRefusal("empty", "The file is empty: there is no data in it.")
    return text


def _read_file(file: str, text: str) -> Imported:
    """JSON first: a file may hold the same run in several formats."""
    if log_rows.is_log(file, text):
        return log_rows.read_log(file, text)
    result = read_json(file, text)
    if result is not None and (result.jobs or not _is_other(text)):
        return result
    if terse.has_lines(text):
        return terse.read_terse(file, text)
    if yabs.is_text(text):
        return yabs.read_text(file, text)
    if text_output.has_jobs(text):
        return text_output.read_text(file, text)
    if errors := reported_errors(text):
        raise FioRefusal("no-result", f"fio ended without a result. {errors}")
    raise FioRefusal("unknown-format", _guess(text))


def _is_other(text: str) -> bool:
    return terse.has_lines(text) or yabs.is_text(text) or text_output.has_jobs(text)


def _guess(text: str) -> str:
    known: Iterable[tuple[str, str]] = (
        ("<html", "The file is a web page, not the output itself."),
        ("[global]", "The file is a job file of fio, not its output."),
        ("fio: ", "fio ended without a result: its lines say why."),
    )
    for mark, sentence in known:
        if mark in text[:10_000]:
            return sentence
    return "The file is no output of fio or YABS that is known here."
