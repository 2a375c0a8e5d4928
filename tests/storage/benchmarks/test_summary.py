from __future__ import annotations

import json

import pytest

from storage.benchmarks.summary import (
    DirectionSummary,
    EndSlope,
    JobSummary,
    RunSeries,
    RunSummary,
    SteadySummary,
)
from storage.host_data import BadHostData

SUMMARY = RunSummary(
    60, 60.0, 1000.0, 60_000, 4_096_000.0,
    DirectionSummary(60_000, 1000.0, 4_096_000.0, 1e6, (1.0, None)),
    None,
    (JobSummary(1, 60_000, 1000.0),),
    RunSeries(500, (1000.0, None), ((1000.0, None),), (0.5, None), (1, None)),
    hit_rate=0.5,
    steady=SteadySummary(True, 1000.0, 0.1, 0.05, 3, 7, 8),
    end_slope=EndSlope(0.03, 0.01, 0.05),
    pauses=((100, 200),),
)  # fmt: skip


def test_a_summary_survives_json() -> None:
    assert RunSummary.from_json(json.loads(json.dumps(SUMMARY.to_json()))) == SUMMARY


def test_a_summary_of_another_version_is_none() -> None:
    with pytest.raises(BadHostData, match="version"):
        RunSummary.from_json(SUMMARY.to_json() | {"version": 2})
    with pytest.raises(BadHostData):
        RunSummary.from_json({})
