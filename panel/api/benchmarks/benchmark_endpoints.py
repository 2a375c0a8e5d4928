"""Benchmarks of hosts: ordered, watched, compared, shared, imported and verified. Staff only."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.benchmarks import benchmark_order as orders
from panel.api.benchmarks.benchmark_bodies import (
    BenchmarkBody,
    ImportBody,
    MatrixBody,
    PauseBody,
    ShareBody,
    VerificationBody,
)
from panel.api.benchmarks.benchmark_shapes import (
    BenchmarkRunShape,
    BenchmarkShape,
    ComparisonShape,
    EstimateShape,
    ExportShape,
    ImportedShape,
    ShareShape,
    VerificationShape,
    outcomes_of,
)
from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import unfit
from panel.api.framework.parameters import OneOf, Parameter, SomeOf, bad_parameter
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Json
from panel.api.jobs.window_shapes import window_of
from panel.benchmarks.asked_matrix import AskedMatrix
from panel.benchmarks.benchmark_words import CONDITIONS
from panel.benchmarks.estimates import estimated
from panel.benchmarks.exports import exported
from panel.benchmarks.imports import save_import
from panel.benchmarks.replayed_heat import replayed_heat
from panel.benchmarks.share_links import end_share, share_by_link
from panel.benchmarks.shown_results import results_of
from panel.benchmarks.stored_runs import UnknownRuns, named_runs, with_brief_runs
from panel.benchmarks.verification import BadExport, verify
from panel.models import Scope
from storage.access import Right
from storage.agent.benchmark.profiles import OwnJob, read_job_file
from storage.benchmarks.heat_profile import HeatFigures
from storage.benchmarks.matrix import Spec
from storage.models import Benchmark, BenchmarkRun, BenchmarkState, Host, RunState
from storage.planner import Refused
from storage.volumes.volume_groups import GroupChoice, groups_of

NUMBERS: Final = ("seconds", "warm_seconds", "repeats", "jobs", "iodepth")
OF: Final = Parameter(
    "of",
    "Keys of benchmarks and of single runs (`KEY.3`), separated by commas; `published` is the "
    "published comparison, `ssds` are all runs on SSDs alone, by SSD model.",
)
VARIED: Final = SomeOf(
    "varied", "A condition that the comparison varies on purpose.", values=tuple(CONDITIONS)
)


class BenchmarkResource(Resource):
    """Of benchmarks."""

    read_scope = Scope.HOSTS_READ
    write_scope = Scope.BENCHMARKS
    staff_only = True

    def benchmarks(self) -> QuerySet[Benchmark]:
        """Those that the person may see."""
        return with_brief_runs(Benchmark.objects.visible_to(self.user))

    def benchmark(self, key: str, right: Right | None = None) -> Benchmark:
        """The one of that key, for people with the right."""
        row = get_object_or_404(self.benchmarks(), key=key)
        if right is not None:
            self.demand(right)
        return row

    def asked(self) -> tuple[Host, Spec, Json]:
        """The host and the matrix of the body; raises `ApiProblem`."""
        self.demand(Right.OPERATE)
        body = self.read()
        group = self._group(body["host"], body["vg"])
        matrix = AskedMatrix(
            targets=tuple(body["targets"]),
            profiles=tuple(body["profiles"]),
            data_bytes=tuple(body["data_bytes"]),
            cache_bytes=tuple(body["cache_bytes"]),
            states=tuple(body["states"]),
            own=_own_job(body["job_file"]),
            heat=self._heat(body["heat_of"]),
            **{name: body[name] for name in NUMBERS},
        )
        return group.host, matrix.spec(group), body

    def _heat(self, key: str) -> HeatFigures | None:
        try:
            return replayed_heat(self.user, key) if key else None
        except Refused as refused:
            raise unfit("heat_of", f"{refused.message} {refused.correction}") from None

    def _group(self, host: str, vg: str) -> GroupChoice:
        groups = [each for each in groups_of(self.user).values() if each.host.key == host]
        named = [each for each in groups if vg in ("", each.vg_name)]
        if not groups:
            raise unfit("host", "No host in use with this key has a usable volume group.")
        if len(named) != 1:
            names = ", ".join(each.vg_name for each in groups)
            raise unfit("vg", f"Name one of its usable groups: {names}.")
        return named[0]


class Benchmarks(BenchmarkResource):
    """All benchmarks."""

    needs_key = True
    listing: ClassVar = Listing(
        "benchmarks",
        BenchmarkShape,
        newest_first=True,
        filters=(
            Parameter("host", "Key of a host.", "host__key"),
            OneOf("state", "Their state.", "state", values=BenchmarkState.values),
        ),
    )

    @operation("benchmarks", "List benchmarks", listing)
    def get(self, request: Request) -> Response:
        """Newest first, without results; a single benchmark has them."""
        return self.page(self.benchmarks())

    @operation(
        "benchmark_order",
        "Order a benchmark",
        BenchmarkShape,
        status=202,
        body=BenchmarkBody,
        problems=(409, 422),
    )
    def post(self, request: Request) -> Response:
        """For operators. Each run makes scratch volumes of its own, measures with fio, and removes
        them; no run touches a customer's volume. Root must have allowed benchmarks on the host
        (`agent.pyz allow-benchmarks`)."""
        host, spec, body = self.asked()
        made = orders.order(
            host, spec, self.requester, title=body["title"], window=window_of(body["window"])
        )
        return self.shown(self.benchmark(made.key), status=202)


class BenchmarkEstimation(BenchmarkResource):
    """Time and space that a benchmark needs."""

    @operation(
        "benchmark_estimate", "Estimate a benchmark", EstimateShape, body=MatrixBody, status=200
    )
    def post(self, request: Request) -> Response:
        """For operators. Orders nothing. Also says why the benchmark would be refused."""
        host, spec, _ = self.asked()
        refusal = orders.order_refusal(host, spec)
        return self.shown(
            estimated(host, spec),
            refusal=refusal.message if refusal is not None else "",
            correction=refusal.correction if refusal is not None else "",
        )


class OneBenchmark(BenchmarkResource):
    """A benchmark."""

    measured = ("state", "done_runs", "message", "correction", "begun_at", "ended_at", "contests")

    @operation("benchmark", "Show a benchmark with its results", BenchmarkShape)
    def get(self, request: Request, key: str) -> Response:
        """`contests` has the winner, the margin, and its certainty."""
        return self.shown(self.benchmark(key))


class BenchmarkPause(BenchmarkResource):
    """Begin no further run."""

    @operation("benchmark_pause", "Pause a benchmark", BenchmarkShape, body=PauseBody, status=200)
    def post(self, request: Request, key: str) -> Response:
        """For operators. Refused once it has ended."""
        row = self.benchmark(key, Right.OPERATE)
        orders.pause(row, self.requester, stops_run=self.read()["now"])
        return self.shown(self.benchmark(key))


class BenchmarkResumption(BenchmarkResource):
    """Resume a paused benchmark."""

    @operation(
        "benchmark_resume", "Resume a benchmark", BenchmarkShape, status=200, problems=(422,)
    )
    def post(self, request: Request, key: str) -> Response:
        """For operators. A run that was stopped is repeated."""
        orders.resume(self.benchmark(key, Right.OPERATE), self.requester)
        return self.shown(self.benchmark(key))


class BenchmarkCancellation(BenchmarkResource):
    """End it."""

    @operation(
        "benchmark_cancel", "Cancel a benchmark", BenchmarkShape, status=200, problems=(422,)
    )
    def post(self, request: Request, key: str) -> Response:
        """For operators. The current run stops; results so far are kept."""
        orders.cancel_benchmark(self.benchmark(key, Right.OPERATE), self.requester)
        return self.shown(self.benchmark(key))


class BenchmarkRuns(BenchmarkResource):
    """The runs of a benchmark."""

    listing: ClassVar = Listing(
        "benchmark-runs",
        BenchmarkRunShape,
        order=("id", "key"),
        time="",
        filters=(OneOf("state", "Their state.", "state", values=RunState.values),),
    )

    @operation("benchmark_runs", "List the runs of a benchmark", listing)
    def get(self, request: Request, key: str) -> Response:
        """In order of execution; finished runs have figures."""
        rows = BenchmarkRun.objects.filter(benchmark=self.benchmark(key))
        return self.page(rows.select_related("benchmark__host"))


class BenchmarkExport(BenchmarkResource):
    """Everything of a benchmark."""

    is_tagged = False

    @operation("benchmark_export", "Export a benchmark with its raw files", ExportShape)
    def get(self, request: Request, key: str) -> Response:
        """The files are gzip-compressed, in base64. `POST /benchmarks/verify` recomputes the
        figures from them."""
        return self.shown(exported(self.benchmark(key)))


class BenchmarkLink(BenchmarkResource):
    """The link that shows a benchmark to strangers."""

    @operation(
        "benchmark_share", "Share a benchmark by a link", ShareShape, body=ShareBody, status=200
    )
    def post(self, request: Request, key: str) -> Response:
        """For operators. Anyone with the address sees figures and charts, but no names, until the
        link expires. A benchmark that is already shared keeps its address."""
        row = self.benchmark(key, Right.OPERATE)
        address = share_by_link(row, self.read()["days"])
        return self.shown({"address": address, "until": row.share_until})

    @operation("benchmark_unshare", "End the link of a benchmark")
    def delete(self, request: Request, key: str) -> Response:
        """For operators. Its address shows nothing from then on."""
        end_share(self.benchmark(key, Right.OPERATE))
        return Response(status=204)


class BenchmarkComparison(BenchmarkResource):
    """Any runs side by side."""

    is_tagged = False

    @operation("benchmark_compare", "Compare any runs", ComparisonShape, parameters=(OF, VARIED))
    def get(self, request: Request) -> Response:
        """If conditions outside `varied` differ, the answer names them and gives no verdict."""
        names = [name for name in (OF.of(request) or "").split(",") if name]
        if not names:
            raise bad_parameter("of", "required", "Name at least one benchmark or run.")
        try:
            runs = named_runs(names, self.user)
        except UnknownRuns as unknown:
            raise bad_parameter("of", "not_found", str(unknown)) from None
        results = results_of(runs, tuple(VARIED.of(request) or ()), by_data=False)
        return self.shown({"contests": outcomes_of(results)})


class BenchmarkImport(BenchmarkResource):
    """Outputs of fio and YABS."""

    @operation(
        "benchmark_import",
        "Import outputs of fio or YABS",
        ImportedShape,
        body=ImportBody,
        status=202,
    )
    def post(self, request: Request) -> Response:
        """For operators. Units are checked; implausible values are refused with the reason."""
        self.demand(Right.OPERATE)
        body = self.read()
        files = {each["name"]: each["content"].encode() for each in body["files"]}
        made, read = save_import(
            files, self.requester, title=body["title"], machine=body["machine"]
        )
        given: dict[str, Any] = {
            "benchmark": self.benchmark(made.key),
            "refused": [f"{each.file}: {each.sentence}" for each in read.refusals],
            "warnings": [f"{each.file}: {each.sentence}" for each in read.warnings],
        }
        return self.shown(given, status=202)


class BenchmarkVerification(BenchmarkResource):
    """Exported figures, recomputed. Changes nothing, so read scopes are enough."""

    write_scope = Scope.READ
    other_scopes = (Scope.HOSTS_READ,)

    @operation(
        "benchmark_verify",
        "Recompute exported figures from their raw files",
        VerificationShape,
        body=VerificationBody,
        status=200,
    )
    def post(self, request: Request) -> Response:
        """Nothing is stored."""
        try:
            return self.shown(verify(self.read()["document"]))
        except BadExport as bad:
            raise unfit("document", str(bad)) from None


def _own_job(text: str) -> OwnJob | None:
    """The one job of a job file, None where there is none; raises `ApiProblem`."""
    try:
        return read_job_file(text) if text.strip() else None
    except ValueError as error:
        raise unfit("job_file", str(error)) from None
