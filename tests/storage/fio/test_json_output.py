"""fio's JSON in its versions, and what people keep of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from storage.fio.latency_bins import Geometry, index_of, middles_ns
from storage.fio.reading import read_outputs
from tests.storage.fio.outputs import (
    IDLE,
    Json,
    codes,
    direction,
    document,
    imported,
    job,
    latency,
    only_job,
    read,
    text_of,
    warned,
)


def old_direction(**more: Any) -> Json:
    """A direction as fio 2 writes it: KiB and microseconds."""
    return {
        "io_bytes": 16_000,
        "bw": 8_000,
        "iops": 2000.0,
        "runtime": 2000,
        "total_ios": 4000,
        "clat": {"min": 25, "max": 2500, "mean": 250.5, "percentile": {"99.00": 900, "0.00": 0}},
        **more,
    }


def test_iops_are_the_count_divided_by_the_run_time() -> None:
    result = only_job(imported(document())).directions["read"]
    assert (result.iops, result.iops_from) == (2000.0, "count")
    assert (result.total_ios, result.io_bytes, result.runtime_ms) == (4000, 4000 * 4096, 2000)
    assert result.bytes_per_s == 2000 * 4096
    assert result.comparable


def test_a_direction_without_ios_is_not_there() -> None:
    assert set(only_job(imported(document())).directions) == {"read"}


def test_latencies_are_nanoseconds_in_every_version() -> None:
    new = only_job(imported(document())).directions["read"].clat
    old = only_job(imported(document(job(read=old_direction()), version="fio-2.17")))
    assert new and new.mean_ns == 250_000
    assert old.directions["read"].clat
    assert old.directions["read"].clat.mean_ns == 250_500
    assert old.directions["read"].clat.printed_percentiles_ns == {99.0: 900_000}


@pytest.mark.parametrize("version", ["fio-2.17", "fio-3.36", "made by hand"])
def test_the_unit_of_the_amount_is_tested_against_the_bandwidth(version: str) -> None:
    result = only_job(imported(document(job(read=old_direction()), version=version)))
    assert result.directions["read"].io_bytes == 16_000 * 1024


def test_an_amount_of_unknown_unit_is_none() -> None:
    row = old_direction(bw=3)
    result = only_job(imported(document(job(read=row), version="fio-2.17")))
    assert result.directions["read"].io_bytes is None
    assert result.directions["read"].bytes_per_s is None


def test_without_a_count_there_are_no_iops() -> None:
    row = old_direction(iops=133)
    del row["total_ios"]
    result = only_job(imported(document(job(read=row), version="fio-2.1.4"))).directions["read"]
    assert (result.iops, result.iops_from, result.iops_printed) == (None, None, 133)


def test_zeros_of_gtod_reduce_are_not_measured() -> None:
    row = direction(clat_ns=latency(0, 0, percentile={"99.000000": 0}))
    assert only_job(imported(document(job(read=row)))).directions["read"].clat is None
    old = old_direction(clat={"min": 0, "max": 0, "mean": 0.0, "percentile": {"99.00": 0}})
    result = only_job(imported(document(job(read=old), version="fio-2.17")))
    assert result.directions["read"].clat is None


def test_the_largest_number_stands_for_no_minimum() -> None:
    row = direction(clat_ns={**latency(), "min": 2**64 - 1})
    clat = only_job(imported(document(job(read=row)))).directions["read"].clat
    assert clat and clat.min_ns is None and clat.mean_ns == 250_000


def test_percentiles_are_those_of_their_own_latency() -> None:
    row = direction(clat_ns=latency(), lat_ns=latency(300_000.0, percentile={"99.000000": 950_000}))
    result = only_job(imported(document(job(read=row)))).directions["read"]
    assert result.clat and result.lat and result.latency is result.clat
    assert result.clat.percentile_ns(99) is None
    assert result.lat.percentile_ns(99) == 950_000


def test_bins_of_json_plus_give_every_percentile() -> None:
    middles = middles_ns(Geometry(1856))
    keys = {str(int(middles[index_of(ns, 1856)])): 1000 for ns in (10_000, 20_000, 40_000, 80_000)}
    row = direction(clat_ns=latency(bins=keys, percentile={"50.000000": 7}))
    clat = only_job(imported(document(job(read=row)))).directions["read"].clat
    assert clat and clat.percentiles_from == "bins"
    assert clat.percentile_ns(75) == pytest.approx(40_000, rel=1 / 64)
    assert clat.percentile_ns(75.1) == pytest.approx(80_000, rel=1 / 64)


def test_bins_were_numbered_once_and_counted_microseconds() -> None:
    bins = {str(index): 0 for index in range(1216)} | {"100": 4000}
    bins |= {"FIO_IO_U_PLAT_BITS": 6, "FIO_IO_U_PLAT_VAL": 64, "FIO_IO_U_PLAT_NR": 1216}
    row = old_direction(clat={"min": 1, "max": 200, "mean": 100.0, "bins": bins})
    clat = only_job(imported(document(job(read=row), version="fio-2.16"))).directions["read"].clat
    assert clat and clat.percentile_ns(99) == 100_000


def test_bins_that_do_not_add_up_are_left_out_with_a_warning() -> None:
    row = direction(clat_ns=latency(bins={"1000": 3}, percentile={"99.000000": 900_000}))
    result = imported(document(job(read=row)))
    clat = only_job(result).directions["read"].clat
    assert clat and clat.bins is None and clat.percentile_ns(99) == 900_000
    assert "bins-differ-from-count" in warned(result)


def test_a_unit_of_an_unknown_key_is_not_believed() -> None:
    row = direction(slat_ms=latency(), lat_us=latency())
    result = imported(document(job(read=row)))
    assert only_job(result).directions["read"].slat is None
    (warning,) = result.warnings
    assert warning.sentence == "The unknown keys lat_us, slat_ms are left out."


def test_iops_that_are_not_count_over_time_are_not_comparable() -> None:
    result = only_job(imported(document(job(read=direction(iops=1900.0), write=direction()))))
    (reason,) = result.directions["read"].reasons
    assert reason.code == "iops-differ-from-count"
    assert "5.0%" in reason.sentence
    assert result.directions["write"].comparable


def test_a_bandwidth_that_is_not_bytes_over_time_is_not_comparable() -> None:
    (reason,) = (
        only_job(imported(document(job(read=direction(bw_bytes=5_000_000)))))
        .directions["read"]
        .reasons
    )
    assert reason.code == "bandwidth-differs-from-bytes"


@pytest.mark.parametrize(
    ("more", "code"), [({"error": 5}, "job-error"), ({"total_err": 3}, "io-errors")]
)
def test_a_job_with_errors_is_shown_and_not_compared(more: Json, code: str) -> None:
    result = only_job(imported(document(job(**more))))
    assert [reason.code for reason in result.reasons] == [code]
    assert result.directions["read"].iops == 2000


def test_jobs_of_one_name_are_apart() -> None:
    result = imported(document(job("a "), job("a "), job("b")))
    assert [(one.jobname, one.index) for one in result.jobs] == [("a ", 0), ("a ", 1), ("b", 2)]


def test_the_sum_of_all_clients_is_marked() -> None:
    clients = [job(hostname="h1"), job(hostname="h2"), job("All clients", hostname="h2")]
    whole = document(client_stats=clients)
    del whole["jobs"]
    result = imported(whole)
    assert [one.host for one in result.jobs] == ["h1", "h2", "h2"]
    assert [one.is_sum_of_others for one in result.jobs] == [False, False, True]
    assert [one.comparable for one in result.jobs] == [True, True, False]


def test_all_clients_alone_are_a_result() -> None:
    whole = document(client_stats=[job("All clients", hostname="h1")])
    del whole["jobs"]
    assert only_job(imported(whole)).comparable


def test_a_job_without_a_name_is_one() -> None:
    nameless = job()
    del nameless["jobname"]
    assert only_job(imported(document(nameless))).jobname == ""


def test_mixed_beside_read_and_write_is_their_sum() -> None:
    alone = job(mixed=direction())
    for name in ("read", "write", "trim"):
        del alone[name]
    assert only_job(imported(document(alone))).directions["mixed"].comparable
    both = only_job(imported(document(job(write=direction(), mixed=direction(8000)))))
    assert not both.directions["mixed"].comparable
    assert both.directions["read"].comparable


def test_fsync_has_a_latency_and_is_no_direction() -> None:
    result = only_job(imported(document(job(sync={"total_ios": 9, "lat_ns": latency(7e6, 9)}))))
    assert result.sync and result.sync.mean_ns == 7e6
    assert set(result.directions) == {"read"}


def test_every_document_is_read() -> None:
    documents = [document(at_ms=1_700_000_000_000 + 60_000 * n) for n in range(3)]
    result = imported(*documents)
    assert [one.document for one in result.jobs] == [0, 1, 2]
    assert all(one.comparable for one in result.jobs)


def test_what_a_status_interval_writes_on_the_way_is_interim() -> None:
    at = 1_700_000_000_000
    documents = [
        document(job(read=direction(1000 * n, 1000 * n), elapsed=n), at_ms=at + 1000 * n)
        for n in (1, 2, 3)
    ]
    assert [one.comparable for one in imported(*documents).jobs] == [False, False, True]


def test_lines_before_the_first_brace_are_heard() -> None:
    before = "\nfio: terminating on signal 2\nJobs: 1 (f=1): [r(1)][9.0%][eta 00m:41s]\r"
    slow = document(job(**{"job options": {"runtime": "5m", "time_based": "1"}}))
    result = read_outputs({"o": before.encode() + text_of(slow)})
    assert only_job(result).comparable
    (warning,) = result.warnings
    assert warning.code == "stopped-by-signal"
    assert warning.sentence == "The run was stopped by signal 2 after 2.0 s of 5m."


def test_a_run_that_ends_early_is_noticed_without_a_word() -> None:
    options = {"runtime": "60", "time_based": ""}
    assert warned(imported(document(job(**{"job options": options})))) == {"shorter-than-asked"}


def test_an_open_loop_is_no_limit_of_the_device() -> None:
    assert warned(imported(document(job(**{"job options": {"rate_iops": "350,150"}})))) == {
        "rate-limited"
    }


def test_figures_of_groups_are_said_to_be_such() -> None:
    result = imported(document(**{"global options": {"group_reporting": "1"}}))
    assert only_job(result).grouped
    assert "group-reporting" in warned(result)


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b""])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_marks_of_order_and_line_ends_do_not_matter(mark: bytes, end: bytes) -> None:
    content = mark + text_of(document()).replace(b"\n", end)
    assert only_job(read_outputs({"o.json": content})).directions["read"].total_ios == 4000


def test_utf_16_of_windows_is_read() -> None:
    content = text_of(document()).decode().encode("utf-16")
    assert only_job(read_outputs({"o.json": content})).directions["read"].total_ios == 4000


def test_what_fio_writes_in_place_of_a_number_is_missing() -> None:
    text = text_of(document()).decode().replace('"mean": 250000.0', '"mean": -nan')
    clat = only_job(read("o.json", text)).directions["read"].clat
    assert clat and clat.mean_ns is None and clat.max_ns == 2_500_000


def test_a_lone_backslash_of_windows_is_read() -> None:
    text = text_of(document(job("C-name"))).decode().replace("C-name", "C:\\mydir\\queue")
    assert only_job(read("o.json", text)).jobname == "C:\\mydir\\queue"


def test_a_document_inside_that_of_another_program_is_read() -> None:
    around = {"tool": "bench", "runs": [{"result": document()}, {"result": document()}]}
    assert len(read("o.json", json.dumps(around)).jobs) == 2


def test_json_and_text_of_one_run_are_one_result() -> None:
    text = text_of(document()).decode() + "\na: (groupid=0, jobs=1): err= 0: pid=7: Mon\n"
    assert only_job(read("o", text)).source == "json"


def test_a_cut_document_is_refused_and_says_what_fio_reported() -> None:
    text = "fio: pid=9, err=5/file:io_u.c:1, func=io_u error, error=Input/output error\n"
    result = read("o.json", text + text_of(document()).decode()[:-300])
    (refusal,) = result.refusals
    assert refusal.code == "json-cut-off"
    assert refusal.sentence.endswith("report I/O errors of the device.")
    assert not result.jobs


def test_a_cut_document_does_not_hide_the_next_one() -> None:
    text = text_of(document()).decode()
    result = read("o.json", f"{text[:400]}\n{text}")
    assert len(result.jobs) == 1
    assert len(result.refusals) == 1


def test_elided_json_is_refused_with_its_line() -> None:
    text = text_of(document()).decode().replace('"write": {', "...\n {", 1)
    assert codes(read("o.json", text)) == {"json-invalid"}


@pytest.mark.parametrize("value", [-1, 2**63, 10**400, 1e308, "7", True, [1], 0.5])
def test_an_impossible_count_refuses_its_job_alone(value: object) -> None:
    result = imported(
        document(job("bad", read=direction(total_ios=1) | {"total_ios": value}), job())
    )
    assert [one.jobname for one in result.jobs] == ["a"]
    assert codes(result) <= {"impossible-number", "not-a-number"}
    assert "bad" in result.refusals[0].sentence


def test_names_keep_nothing_that_a_page_or_a_database_cannot_hold() -> None:
    text = text_of(document(job("NAME"))).decode().replace("NAME", "a\\u0000b\\ud800c" + "d" * 900)
    name = only_job(read("o.json", text)).jobname
    assert name.startswith("a\ufffdb\ufffdcd")
    assert len(name) == 500
    name.encode()


def test_an_output_without_jobs_says_so() -> None:
    assert codes(imported({"fio version": "fio-3.36", "jobs": []})) == {"no-jobs"}
    assert codes(read("o.json", '{"a": 1}')) == {"not-fio-json"}


def test_an_idle_job_is_a_job() -> None:
    assert only_job(imported(document(job(read=IDLE)))).directions == {}
