"""Whatever a file holds, an import gives results or refusals, never an error."""

from __future__ import annotations

import gzip
import io
import itertools
import random
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.fio import reading
from storage.fio.reading import read_outputs
from tests.storage.fio.outputs import codes, document, read, text_of
from tests.storage.fio.test_log_rows import LATENCIES, histogram_row
from tests.storage.fio.test_terse import fields, idle, line
from tests.storage.fio.test_text_output import NEW, OLD
from tests.storage.fio.test_yabs import HEAD, TABLE, report
from tests.storage.fio.test_yabs import test_of as yabs_test

SHAPES = {
    "o.json": text_of(document(), document(version="fio-2.17")),
    "terse.txt": line(fields(), idle()).encode(),
    "text.txt": (NEW + OLD).encode(),
    "y.json": report(yabs_test(), yabs_test("1m", 400_000, 390)).encode(),
    "y.txt": (HEAD.format(version="2021-06-05") + TABLE.format(speed=108.13)).encode(),
    "x_clat.1.log": LATENCIES.encode(),
    "x_iops.1.log": b"500, 10, 0, 0, 0\n1000, 12, 0, 0, 0\n",
    "x_clat_hist.1.log": histogram_row(1000, {100: 40}).encode(),
}
TOKENS = (
    b"-1", b"NaN", b"1e308", b"1e999", b"9" * 30, b"18446744073709551615", b"null", b'"x"', b"[]",
    b"{}", b"\xff", b"\x00", b"-nan", b"inf", b'"\\ud800"', b";", b",", b"%", b"true", b"\n", b"{",
    b"}", b"[" * 50, b"0x", b"\xef\xbb\xbf", b"=", b"|",
)  # fmt: skip


def packed() -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("o.json", text_of(document()))
    return archive.getvalue()


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty"),
        (b" \r\n ", "empty"),
        (packed(), "packed"),
        (gzip.compress(text_of(document())), "packed"),
        (b"\xff\xfe\xff", "not-text"),
        (text_of(document()).replace(b"randread", b"rand\xe4"), "not-text"),
        (b"\x7fELF\x00\x00", "not-text"),
        (b"<html><body>404", "unknown-format"),
        (b"[global]\nrw=read\n[a]\n", "unknown-format"),
        (b"fio: engine libaio not loadable\n", "unknown-format"),
        (b"hello", "unknown-format"),
        (
            b"fio: pid=9, err=5/file:io_u.c:1, func=io_u error, error=Input/output error\n",
            "no-result",
        ),
        (b"sha256: verify failed at file x offset 668565504, length 32768\n", "no-result"),
        (b"verify: bad magic header 0, wanted acca at file x offset 0\n", "no-result"),
        (b'{"a":' * 100_000, "json-too-deep"),
        (b"[" + b'{"jobs":' * 100_000, "json-too-deep"),
        (b"{\n" * 100_000, "json-cut-off"),
        (b"x\n" + b"\n" * 300_000, "unknown-format"),
        (b" " * 300_000 + b"x", "unknown-format"),
        (b"3" + b";" * 300_000, "terse-invalid"),
    ],
    ids=itertools.count(),
)
def test_what_is_no_output_is_refused(content: bytes, code: str) -> None:
    result = read_outputs({"o": content})
    assert codes(result) == {code}
    assert not (result.jobs or result.series or result.histograms)
    assert all(remark.sentence.endswith(".") for remark in result.refusals)


def test_long_lines_of_a_result_are_no_trouble() -> None:
    text = NEW.replace("  lat (usec)", " " * 100_000 + "a" + " " * 100_000 + "\n  lat (usec)")
    assert len(read("o.txt", text).jobs) == 1


def test_options_are_no_trouble_however_deep() -> None:
    deep = "[" * 900 + "]" * 900
    text = text_of(document()).decode().replace('"randread"', deep)
    (job,) = read("o.json", text).jobs
    assert job.options["rw"] == ""


def test_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "FILE_BYTES", 100)
    assert codes(read_outputs({"o": b"x" * 101})) == {"too-large"}
    monkeypatch.setattr(reading, "ALL_BYTES", 100)
    assert codes(read_outputs({"a": b"x" * 60, "b": b"x" * 60})) == {"too-much"}
    assert codes(read_outputs({str(n): b"" for n in range(501)})) == {"too-much"}


def test_one_file_does_not_spoil_the_others() -> None:
    one_version = {"o.json": text_of(document()), "text.txt": NEW.encode()}
    result = read_outputs({"bad": b"\x00", **SHAPES, **one_version})
    assert codes(result) == {"not-text"}
    assert {job.source for job in result.jobs} == {
        "json",
        "terse",
        "text",
        "yabs-json",
        "yabs-text",
    }
    assert {series.quantity for series in result.series} == {"iops"} | {"clat"}
    assert len(result.histograms) == 1


def test_files_are_read_in_the_order_of_their_numbers() -> None:
    files = {f"x_iops.{n}.log": SHAPES["x_iops.1.log"] for n in (10, 2, 1)}
    assert [one.job_number for one in read_outputs(files).series] == [1, 2, 10]


def test_a_remark_names_its_file() -> None:
    (refusal,) = read("bad.json", "{").refusals
    assert refusal.file == "bad.json"


@given(st.sampled_from(sorted(SHAPES)), st.integers(0, 2**32))
def test_no_damage_makes_an_import_fail(name: str, seed: int) -> None:
    draw, content = random.Random(seed), SHAPES[name]
    for _ in range(draw.choice([1, 2, 8])):
        start = draw.randrange(len(content) + 1)
        end = draw.choice([start, start + 1, start + draw.randrange(40), len(content)])
        content = content[:start] + draw.choice([b"", *TOKENS]) + content[end:]
    result = read_outputs({name: content})
    assert result.jobs or result.series or result.histograms or result.refusals
    for job in result.jobs:
        for one in job.directions.values():
            figures = [one.total_ios, one.io_bytes, one.runtime_ms, one.iops, one.bytes_per_s]
            assert all(figure is None or 0 <= figure < 2**80 for figure in figures)


@given(st.binary(max_size=400))
def test_no_bytes_make_an_import_fail(content: bytes) -> None:
    result = read_outputs({"x_iops.1.log": content, "o": content})
    assert result.refusals or result.series or result.jobs
