"""The matrix that a form or a request asks for, in the words of `PRESETS`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from panel.benchmarks.target_presets import PRESETS
from storage.agent.benchmark.profiles import PROFILES, OwnJob
from storage.benchmarks.heat_profile import HeatFigures
from storage.benchmarks.matrix import CacheState, Profile, ProfileChoice, Spec
from storage.volumes.volume_groups import GroupChoice

USUAL_JOBS, USUAL_DEPTH = 2, 8
"""Of the published comparison, as are the other usual values."""
USUAL_SECONDS: Final = 1800
USUAL_REPEATS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedMatrix:
    """`targets` are named by `PRESETS`, `profiles` and `states` by their values; `own` is the job
    of the profile `own`, with streams, depth and block size of its own; `heat` is what the profile
    `heat` replays. Whether it can be run,
    `storage.benchmarks.matrix.demand_sound` judges."""

    targets: tuple[str, ...]
    profiles: tuple[str, ...]
    data_bytes: tuple[int, ...]
    cache_bytes: tuple[int, ...] = ()
    states: tuple[str, ...] = ()
    seconds: int = USUAL_SECONDS
    warm_seconds: int = USUAL_SECONDS
    repeats: int = USUAL_REPEATS
    jobs: int = USUAL_JOBS
    iodepth: int = USUAL_DEPTH
    own: OwnJob | None = None
    heat: HeatFigures | None = None

    def spec(self, group: GroupChoice) -> Spec:
        """The matrix in a volume group."""
        states = self.states or (CacheState.NEW,)
        return Spec(
            vg_uuid=group.vg_uuid,
            vg_name=group.vg_name,
            targets=tuple(PRESETS[name].choice for name in dict.fromkeys(self.targets)),
            profiles=tuple(map(self._profile, dict.fromkeys(self.profiles))),
            data_bytes=tuple(sorted(set(self.data_bytes))),
            seconds=self.seconds,
            cache_bytes=tuple(sorted(set(self.cache_bytes))),
            states=tuple(map(CacheState, dict.fromkeys(states))),
            warm_seconds=self.warm_seconds if CacheState.WARMED in states else 0,
            repeats=self.repeats,
        )

    def _profile(self, name: str) -> ProfileChoice:
        profile = Profile(name)
        if profile == Profile.OWN and self.own is not None:
            own = self.own
            return ProfileChoice(profile, own.jobs, own.iodepth, own.block_bytes, own.options)
        if profile == Profile.HEAT and self.heat is not None:
            block = self.heat.block_bytes
            return ProfileChoice(profile, self.jobs, self.iodepth, block, heat=self.heat)
        return ProfileChoice(profile, self.jobs, self.iodepth, PROFILES[name].block_bytes)
