"""The page that takes outputs of fio and YABS from elsewhere."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from panel.benchmarks.imports import NothingImported, save_import
from panel.staff.job_requests import requester_of
from storage.access import Right, staff_view
from storage.byte_sizes import MIB
from storage.formatting import counted
from storage.models.benchmark import TITLE_LIMIT
from storage.name_validators import demand_plain

MOST_FILES: Final = 50
MOST_BYTES: Final = 64 * MIB
MACHINE_LIMIT: Final = 200


class SeveralFiles(forms.ClearableFileInput):
    """Several at once."""

    allow_multiple_selected = True


class FilesField(forms.FileField):
    """Files by their names, not too many and not too large."""

    widget = SeveralFiles

    def clean(self, data: Any, initial: Any = None) -> Any:
        """What each holds."""
        files: list[UploadedFile[Any]] = list(data) if isinstance(data, list | tuple) else [data]
        for each in files:
            super().clean(each, initial)
        if len(files) > MOST_FILES or sum(each.size or 0 for each in files) > MOST_BYTES:
            raise forms.ValidationError(
                f"At most {MOST_FILES} files of {MOST_BYTES // MIB} MiB together."
            )
        return {str(each.name): each.read() for each in files}


class ImportForm(forms.Form):
    """The files, and what people are to read of them."""

    outputs = FilesField(label="Files of one or more runs", max_length=200)
    title = forms.CharField(
        max_length=TITLE_LIMIT, required=False, validators=[demand_plain], label="Title"
    )
    machine = forms.CharField(
        max_length=MACHINE_LIMIT,
        required=False,
        validators=[demand_plain],
        label="Machine",
        help_text="Where it was measured: disks, kernel, whose.",
    )


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def import_benchmark(request: HttpRequest) -> HttpResponse:
    """The form, then the page of what was imported, or why nothing was."""
    is_post = request.method == "POST"
    form = ImportForm(request.POST, request.FILES) if is_post else ImportForm()
    context: dict[str, Any] = {"form": form, "refusals": ()}
    if is_post and form.is_valid():
        data = form.cleaned_data
        try:
            made, found = save_import(
                data["outputs"], requester_of(request), title=data["title"], machine=data["machine"]
            )
        except NothingImported as nothing:
            context["refusals"] = nothing.remarks
        else:
            messages.success(request, f"{counted(len(found.runs), 'run')} imported.")
            for each in (*found.refusals, *found.warnings):
                messages.warning(request, f"{each.file}: {each.sentence}")
            return redirect("benchmark", made.key)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_post else HTTPStatus.OK
    return render(request, "staff/benchmarks/import.html", context, status=status)
