"""How worn an SSD is, and until when it lasts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from storage.health.smart_endurance import (
    TB,
    WearForecast,
    WearPoint,
    forecast,
    rated_bytes,
    wear_of,
)
from tests.smart_disks import ata, attribute, statistic
from tests.storage.health.test_smart_written import health_of

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def points(
    days: int, per_day_bytes: int | None = None, per_day_percent: float | None = None
) -> list[WearPoint]:
    """One reading a day until now; the disk had 100 TB and 10 % before."""
    return [
        WearPoint(
            NOW - timedelta(days=days - day),
            None if per_day_bytes is None else 100 * TB + day * per_day_bytes,
            None if per_day_percent is None else int(10 + day * per_day_percent),
        )
        for day in range(days + 1)
    ]


def days_of(made: WearForecast | None) -> float | None:
    assert made is not None
    return None if made.at is None else (made.at - NOW) / timedelta(days=1)


def test_what_is_written_a_day_is_held_against_the_rated_endurance() -> None:
    made = forecast(points(30, TB), NOW, 150 * TB, None)
    assert days_of(made) == 20
    assert made is not None
    assert made.assumption == (
        "If 931 GiB a day are written as in the last 30 days, until the rated 150 TB."
    )


def test_without_an_endurance_and_without_a_percentage_there_is_no_forecast() -> None:
    assert forecast(points(30, TB), NOW, None, 10_000) is None
    assert forecast([], NOW, 150 * TB, 10_000) is None


def test_some_days_are_needed() -> None:
    assert forecast(points(6, TB), NOW, 150 * TB, None) is None
    assert forecast(points(7, TB), NOW, 150 * TB, None) is not None


def test_the_disks_own_percentage_is_taken_where_it_moved() -> None:
    made = forecast(points(20, None, 0.5), NOW, None, 10_000)
    assert days_of(made) == 160
    assert made is not None and "last 20 days" in made.assumption


def test_a_percentage_that_hardly_moved_is_taken_over_its_whole_life() -> None:
    made = forecast(points(20, None, 0), NOW, None, 24 * 1000)
    assert days_of(made) == 9000 or days_of(made) is None
    assert made is not None and "its 1000 days of running" in made.assumption
    young = forecast(points(20, None, 0), NOW, None, 24 * 20)
    assert young is None


def test_the_earliest_forecast_counts() -> None:
    both = points(30, TB, 0.1)
    soon = forecast(both, NOW, 131 * TB, 24 * 1000)
    assert days_of(soon) == 1
    assert days_of(forecast(both, NOW, 10_000 * TB, 24 * 1000)) == 870


def test_what_lasts_for_decades_has_no_date() -> None:
    made = forecast(points(30, 1000), NOW, 10_000 * TB, None)
    assert made is not None and made.at is None


def test_a_disk_beyond_its_endurance_is_worn_out_now() -> None:
    assert days_of(forecast(points(30, TB), NOW, 120 * TB, None)) == 0


def test_old_readings_do_not_count() -> None:
    old = [WearPoint(NOW - timedelta(days=400), 0, None), *points(10, TB)]
    assert days_of(forecast(old, NOW, 111 * TB, None)) == 1


def test_an_attribute_is_read_by_its_name_and_model() -> None:
    other = ata("Unheard Of", "S", [attribute(177, "Wear_Leveling_Count", 5, value=91)])
    assert wear_of(health_of(other)) is None
    renamed = ata("SAMSUNG MZ7LH480", "S", [attribute(177, "Something_Else", 5, value=91)])
    assert wear_of(health_of(renamed)) is None
    beyond = ata("KINGSTON SX", "S", [attribute(231, "SSD_Life_Left", 4_000)])
    assert wear_of(health_of(beyond)) is None


def test_the_standards_page_stands_above_attributes_and_may_exceed_100() -> None:
    rows = [attribute(177, "Wear_Leveling_Count", 5, value=91)]
    document = ata("SAMSUNG MZ7LH480", "S", rows, statistics=[statistic(7, 8, 104)])
    wear = wear_of(health_of(document))
    assert wear is not None and wear.percent == 104


def test_the_rated_endurance_is_known_of_few_models() -> None:
    assert rated_bytes("SAMSUNG MZ7LH480HAHQ-00005") == 683 * TB
    assert rated_bytes("MZ7LH480HAHQ") is None
