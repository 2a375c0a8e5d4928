"""What fio may be asked to do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.agent.benchmark.profiles import ALLOWED, PROFILES, own_options, read_job_file

JOB = """
# the evening's job
[global]
ioengine=libaio
direct=1
time_based
runtime=60
[reads]
readwrite=randrw   ; mixed
rwmixread=80
bs=8k
iodepth=32
numjobs=4
random_distribution=zipf:1.1
rate_iops=200,50
"""


def test_a_job_file_of_ones_own_is_read() -> None:
    job = read_job_file(JOB)
    assert (job.jobs, job.iodepth, job.block_bytes) == (4, 32, 8192)
    assert dict(job.options) == {
        "rw": "randrw",
        "rwmixread": "80",
        "random_distribution": "zipf:1.1",
        "rate_iops": "200,50",
    }
    assert own_options(list(job.options)) == tuple([*pair] for pair in job.options)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("exec_prerun=/bin/sh", "Line 2: a run may not have the option exec_prerun"),
        ("directory=/etc", "directory"),
        ("filename_format=/etc/$jobname", "filename_format"),
        ("offset=1g", "offset"),
        ("[second]", "Line 2 begins a second job"),
        ("bs=3", "bs must be one size"),
        ("iodepth=100000", "iodepth must be"),
        ("rwmixread=200", "rwmixread"),
        ("random_distribution=zipf:1.2:/etc/passwd", "random_distribution"),
    ],
)
def test_a_job_that_a_run_may_not_do_is_refused_with_the_reason(line: str, why: str) -> None:
    with pytest.raises(ValueError, match=why.replace("(", r"\(")):
        read_job_file(f"[job]\n{line}\nrw=read\n")


def test_a_job_must_say_what_it_does() -> None:
    with pytest.raises(ValueError, match="rw"):
        read_job_file("[job]\nbs=4k\n")


def test_no_option_of_ones_own_names_a_file_a_program_or_how_long() -> None:
    forbidden = ("file", "dir", "exec", "size", "offset", "runtime", "engine", "log", "output")
    assert [name for name in ALLOWED if any(word in name for word in forbidden)] == []


TEXT = st.text(max_size=30)


@given(st.lists(st.tuples(st.sampled_from(sorted(ALLOWED)) | TEXT, TEXT), max_size=6))
def test_a_value_of_ones_own_is_one_word_that_leads_nowhere(pairs: list[tuple[str, str]]) -> None:
    try:
        options = own_options([list(pair) for pair in pairs])
    except ValueError:
        return
    for name, value in options:
        assert name in ALLOWED and value.isascii() and value.isprintable()
        assert not set(value) & set(" ;|&$`'\"\\<>*?~") and "//" not in value and ".." not in value


def test_every_profile_but_ones_own_says_what_it_does() -> None:
    for profile in PROFILES.values():
        assert profile.title
        assert bool(dict(profile.options).get("rw")) == (profile.name != "own")
