"""Models of disks: the names under which smartctl shows what was written to them and how worn they
are, with invented figures, and what must be read from that.

The names are those that smartctl prints of real disks of these models; `written_bytes` is None
where the unit must stay unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.smart_disks import ata, attribute, nvme, sas, statistic

GIB = 1 << 30
MIB32 = 32 << 20


@dataclass(frozen=True)
class ModelCase:
    """`document` is what smartctl prints; `percent` what is used of the endurance."""

    model: str
    document: Mapping[str, Any]
    written_bytes: int | None
    percent: int | None


def _ata(
    model: str,
    rows: Sequence[Mapping[str, Any]],
    written_bytes: int | None,
    percent: int | None = None,
    **more: Any,
) -> ModelCase:
    return ModelCase(model, ata(model, "S", rows, **more), written_bytes, percent)


def _samsung(model: str, *, known: bool = True) -> ModelCase:
    rows = [
        attribute(177, "Wear_Leveling_Count", 1661, value=91),
        attribute(202, "Exception_Mode_Status" if known else "Unknown_SSD_Attribute", 0),
        attribute(241, "Total_LBAs_Written", 2_000_000, value=99),
        attribute(246, "Unknown_Attribute", 65535),
    ]
    return _ata(model, rows, 2_000_000 * 512, 9, known=known)


def _intel(model: str) -> ModelCase:
    rows = [
        attribute(225, "Host_Writes_32MiB", 1234),
        attribute(233, "Media_Wearout_Indicator", 0, value=85),
        attribute(241, "Host_Writes_32MiB", 1234),
        attribute(243, "NAND_Writes_32MiB", 9999),
    ]
    return _ata(model, rows, 1234 * MIB32, 15)


def _micron(model: str, *, known: bool = True) -> ModelCase:
    rows = [
        attribute(173, "Avg_Block-Erase_Count", 83),
        attribute(202, "Percent_Lifetime_Remain", 3, value=97),
        attribute(246, "Total_LBAs_Written", 5_000_000),
        attribute(247, "Host_Program_Page_Count", 156_250),
    ]
    return _ata(model, rows, 5_000_000 * 512, 3, known=known)


def _hdd(model: str, name: str = "Total_LBAs_Written") -> ModelCase:
    rows = [attribute(197, "Current_Pending_Sector", 0), attribute(241, name, 917_915_044)]
    return _ata(model, rows, None, rotation_rpm=7200)


def _dom(model: str, *, known: bool = False) -> ModelCase:
    """A SATA DOM whose 241 counts MiB, under the name that smartctl gives every 241."""
    return _ata(model, [attribute(241, "Total_LBAs_Written", 50_108)], None, known=known)


MODELS: Final = (
    *map(
        _samsung,
        (
            "SAMSUNG MZ7WD240HAFV-00003",
            "SAMSUNG MZ7LH480HAHQ-00005",
            "SAMSUNG MZ7LH1T9HMLT-00005",
            "SAMSUNG MZ7L3240HCHQ-00A07",
            "Samsung SSD 840 Series",
            "Samsung SSD 850 PRO 128GB",
            "Samsung SSD 860 PRO 512GB",
            "Samsung SSD 870 EVO 1TB",
        ),
    ),
    _samsung("SAMSUNG MZ7L3480HCHQ-00A07", known=False),
    _ata(
        "Samsung SSD 860 EVO 500GB",
        [
            attribute(177, "Wear_Leveling_Count", 278, value=81),
            attribute(241, "Total_LBAs_Written", 64_777),
        ],
        64_777 * 512,
        19,
        statistics=[statistic(1, 24, 64_777), statistic(7, 8, 19)],
    ),
    *map(
        _intel,
        (
            "INTEL SSDSC2BB016T4",
            "INTEL SSDSC2BB240G6",
            "INTEL SSDSC2BB480G7",
            "INTEL SSDSC2KB019T8",
            "INTEL SSDSC2KB240G7",
            "INTEL SSDSC2KG480G8",
            "INTEL SSDSCKKB480G8",
        ),
    ),
    _ata(
        "SSDSCKJB240G7R",
        [
            attribute(225, "Host_Writes_32MiB", 129_493),
            attribute(233, "Total_LBAs_Written", 129_493),
            attribute(241, "Total_LBAs_Written", 129_493),
            attribute(245, "Percent_Life_Remaining", 98, value=98),
        ],
        129_493 * MIB32,
        2,
    ),
    *map(
        _micron,
        (
            "Micron_5210_MTFDDAK960QDE",
            "Micron_5300_MTFDDAK1T9TDS",
            "Micron_5300_MTFDDAV240TDS",
            "CT500MX500SSD1",
            "CT1000BX500SSD1",
        ),
    ),
    _ata(
        "KINGSTON SA400M8120G",
        [
            attribute(231, "SSD_Life_Left", 98, value=98),
            attribute(233, "Flash_Writes_GiB", 979),
            attribute(241, "Lifetime_Writes_GiB", 398),
        ],
        398 * GIB,
        2,
    ),
    _ata(
        "KINGSTON SKC400S371T",
        [
            attribute(231, "SSD_Life_Left", 74, value=100),
            attribute(233, "Flash_Writes_GiB", 840_007),
            attribute(241, "Lifetime_Writes_GiB", 391_741),
        ],
        391_741 * GIB,
        26,
    ),
    _ata(
        "TS32GMTS400",
        [
            attribute(169, "Remaining_Lifetime_Perc", 96),
            attribute(241, "Host_Writes_32MiB", 30_245),
            attribute(245, "TLC_Writes_32MiB", 136_733),
        ],
        30_245 * MIB32,
        4,
    ),
    _ata("TOSHIBA THNSN81Q92CSE", [attribute(241, "Total_LBAs_Written", 12_331)], 12_331 * MIB32),
    _ata("TOSHIBA THNSN8960PCSE", [attribute(241, "Host_Writes_32MiB", 12_331)], 12_331 * MIB32),
    *map(_dom, ("SuperMicro SSD", "SATADOM-SL 3ME3", "InnoLite SATADOM D150QV", "M.2 SSD 512GB")),
    _dom("SATADOM-SH 3IE3 V2", known=True),
    _ata("Unheard Of SSD", [attribute(241, "Host_Writes_GiB", 5)], None, known=False),
    _ata("Unheard Of SSD 2", [attribute(241, "Lifetime_Wts_Frm_Hst_GB", 5)], None),
    _ata("Only NAND", [attribute(233, "NAND_Writes_GiB", 5)], None),
    *map(
        _hdd,
        (
            "ST10000NM0016-1TT101",
            "ST8000NM000A-2KE101",
            "WDC WD4000FYYX",
            "TOSHIBA MG09ACA18TE",
            "WUH721818ALE6L4",
        ),
    ),
    _ata(
        "WDC WD140EDFZ-11A0VA0",
        [attribute(5, "Reallocated_Sector_Ct", 0)],
        4096 * 1000,
        rotation_rpm=5400,
        statistics=[statistic(1, 24, 1000)],
        block_bytes=4096,
    ),
    _ata(
        "INTEL SSDSC2KB960G8",
        [attribute(241, "Host_Writes_32MiB", 7)],
        7 * MIB32,
        statistics=[statistic(1, 24, 1000, valid=False)],
    ),
    *(
        ModelCase(model, nvme(model, "N", units_written=1000, percentage_used=3), 512_000_000, 3)
        for model in (
            "INTEL SSDPE2KX080T8",
            "KXG60ZNV512G TOSHIBA",
            "SAMSUNG MZQLB1T9HAJR-00007",
            "CT250P2SSD8",
            "Micron_7450_MTFDKCC3T2TFS",
            "Samsung SSD 970 EVO Plus 250GB",
        )
    ),
    *(
        ModelCase(model, sas(model, "Z", gigabytes="86472.611"), 86_472_611_000_000, None)
        for model in ("SEAGATE ST4000NM0043", "HITACHI H109060SESUN600G")
    ),
    ModelCase(
        "SAMSUNG MZILT960HBHQ",
        sas(
            "SAMSUNG MZILT960HBHQ", "Z", rotation_rate=0, scsi_percentage_used_endurance_indicator=4
        ),
        10**12,
        4,
    ),
)
