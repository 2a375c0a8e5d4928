"""What is asked to be adopted: CSV files that people make, and name patterns."""

from __future__ import annotations

import pytest

from storage.adoption import AdoptionQuestion, BadCsv, Candidate, asked_by_pattern, read_csv

HEAD = "volume,customer,external_id\n"


def candidate(lv_name: str = "web12", **fields: object) -> Candidate:
    defaults: dict[str, object] = {
        "key": f"key-{lv_name}",
        "host_name": "node1",
        "vg_name": "vg0",
        "lv_name": lv_name,
        "lv_uuid": f"uuid-{lv_name}",
        "guest": "",
        "owner": "",
        "is_adopted": False,
        "host_use": "",
        "is_missing": False,
        "is_allowed": False,
        "is_managed": False,
        "size_bytes": 2**30,
    }
    return Candidate(**{**defaults, **fields})  # type: ignore[arg-type]


def test_a_row_becomes_an_ask_with_its_line() -> None:
    asks = read_csv(f"{HEAD}vg0/web12, Example Ltd ,vps-7\n\nvg0/db,Other,\n".encode())
    assert asks == (
        AdoptionQuestion(2, "vg0/web12", "Example Ltd", "vps-7"),
        AdoptionQuestion(4, "vg0/db", "Other", ""),
    )


def test_a_label_is_welcome_and_columns_come_in_any_order() -> None:
    (ask,) = read_csv(b"label,External_ID,customer,volume\nShop,7,Acme,vg0/a\n")
    assert ask == AdoptionQuestion(2, "vg0/a", "Acme", "7", "Shop")


def test_what_spreadsheets_save_is_read() -> None:
    (ask,) = read_csv(b'\xef\xbb\xbfvolume;customer;external_id\r\nvg0/a;"Acme; Ltd";7\r\n')
    assert (ask.customer, ask.external_id) == ("Acme; Ltd", "7")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "Line 1: expected header volume,customer[,external_id,label]"),
        (b"volume,label\nvg0/a,Acme\n", "Line 1: expected header"),
        (b"volume,customer,external_id,price\n", "Line 1: expected header"),
        (b"volume,volume,customer,external_id\n", "Line 1: expected header"),
        (HEAD.encode(), "Line 1: there are no rows"),
        (HEAD.encode() + b"vg0/a,Acme,1\nvg0/\xff,Acme,2\n", "Line 3: not UTF-8"),
        (HEAD.encode() + b"vg0/a,A\0,1\n", "Line 2: the character U+0000"),
        (HEAD.encode() + b'vg0/a,"A"x,1\n', "not CSV"),
        (HEAD.encode() + b"vg0/a,A,1\n" * 2 + b"\n" * 2**20, "larger than 1024 KiB"),
    ],
)
def test_a_bad_file_is_refused_whole_with_the_line(data: bytes, words: str) -> None:
    with pytest.raises(BadCsv) as refused:
        read_csv(data)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("vg0/b,Acme", "2 fields, expected 3."),
        (",Acme,1", "the volume is missing."),
        ("vg0/a,B,3", "the volume vg0/a is already in line 2."),
        ("vg0/b,A,1", "the external_id 1 is already in line 2."),
        ("vg0/b,A," + "1" * 65, "external_id has more than 64 characters."),
    ],
)
def test_a_bad_row_says_why_and_keeps_no_other_back(row: str, words: str) -> None:
    first, bad, last = read_csv(f"{HEAD}vg0/a,A,1\n{row}\nvg0/c,C,9\n".encode())
    assert (first.problem, bad.problem, last.problem) == ("", words, "")
    assert bad.line == 3


def test_the_external_id_may_be_left_out() -> None:
    (ask,) = read_csv(b"volume,customer\nvg0/a,Acme\n")
    assert ask == AdoptionQuestion(2, "vg0/a", "Acme")


def test_too_many_rows_are_refused() -> None:
    rows = "".join(f"vg0/v{n},A,{n}\n" for n in range(2001))
    with pytest.raises(BadCsv, match="Line 2002: more than 2000 rows"):
        read_csv((HEAD + rows).encode())


def test_two_rows_without_an_external_id_are_no_duplicates() -> None:
    assert len(read_csv(f"{HEAD}vg0/a,A,\nvg0/b,A,\n".encode())) == 2


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*", ["web1", "web2", "vm-9-disk-0"]),
        ("web?", ["web1", "web2"]),
        ("shop", ["vm-9-disk-0"]),
        ("shop*vdb", ["vm-9-disk-0"]),
        ("WEB1", []),
    ],
)
def test_a_pattern_meets_names_of_volumes_and_of_guests(pattern: str, found: list[str]) -> None:
    there = [candidate("web1"), candidate("web2"), candidate("vm-9-disk-0", guest="shop · vdb")]
    asks = asked_by_pattern(there, pattern, "Acme")
    assert [ask.volume for ask in asks] == [f"uuid-{name}" for name in found]
    assert all(ask.customer == "Acme" and ask.by_pattern for ask in asks)


def test_the_customer_may_be_named_as_the_guest() -> None:
    there = [candidate("a", guest="shop · vda, backup · vdb"), candidate("b")]
    assert [ask.customer for ask in asked_by_pattern(there, "*", None)] == ["shop", ""]
