"""Records of customers, hosts and volumes. What the host says now is in
`storage.inventory.facts`."""

from storage.models.benchmark import (
    Benchmark,
    BenchmarkFile,
    BenchmarkOrigin,
    BenchmarkPurpose,
    BenchmarkRun,
    BenchmarkState,
    RunState,
)
from storage.models.cacheplan import CachePlan
from storage.models.customer import Customer, Member
from storage.models.device import Device, DeviceKind, DeviceSample, LatestDeviceSample
from storage.models.event import Event, EventKind
from storage.models.heat_day import HeatDay
from storage.models.heat_trace import HeatTrace, TraceState
from storage.models.host import Host
from storage.models.host_change import HostChange, HostChangeKind, RestartEffect
from storage.models.kernel_gate import BootState, Gate, GateBoot, GateEffect, GateKind
from storage.models.measured_rate import ForecastRecord, MeasuredRate, RateKind
from storage.models.outline import (
    CacheCondition,
    FleetLoad,
    HostActivity,
    HostLoad,
    HostOutline,
)
from storage.models.physical_disk import DiskReading, DiskRound, PhysicalDisk
from storage.models.sample import (
    UNREADABLE_CHUNK,
    LatestSample,
    Resolution,
    Sample,
    SampleChunk,
    SubjectKind,
)
from storage.models.size_forecast import SizeForecast
from storage.models.tag_limit import TagLimit
from storage.models.volume import Placement, Volume

__all__ = [
    "UNREADABLE_CHUNK",
    "Benchmark",
    "BenchmarkFile",
    "BenchmarkOrigin",
    "BenchmarkPurpose",
    "BenchmarkRun",
    "BenchmarkState",
    "BootState",
    "CacheCondition",
    "CachePlan",
    "Customer",
    "Device",
    "DeviceKind",
    "DeviceSample",
    "DiskReading",
    "DiskRound",
    "Event",
    "EventKind",
    "FleetLoad",
    "ForecastRecord",
    "Gate",
    "GateBoot",
    "GateEffect",
    "GateKind",
    "HeatDay",
    "HeatTrace",
    "Host",
    "HostActivity",
    "HostChange",
    "HostChangeKind",
    "HostLoad",
    "HostOutline",
    "LatestDeviceSample",
    "LatestSample",
    "MeasuredRate",
    "Member",
    "PhysicalDisk",
    "Placement",
    "RateKind",
    "Resolution",
    "RestartEffect",
    "RunState",
    "Sample",
    "SampleChunk",
    "SizeForecast",
    "SubjectKind",
    "TagLimit",
    "TraceState",
    "Volume",
]
