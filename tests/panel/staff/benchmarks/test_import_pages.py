"""Outputs of fio and YABS are imported on a page."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from storage.models import Benchmark
from tests.storage.benchmarks.run_files import fio_json, iops_log

pytestmark = pytest.mark.django_db


def upload(client: Client, **files: bytes) -> object:
    given = [SimpleUploadedFile(name.replace("__", "."), body) for name, body in files.items()]
    data = {"files": given, "title": "A friend's", "machine": "2 x SM863"}
    return client.post(reverse("benchmark-import"), data)


def test_files_become_a_benchmark_that_says_where_it_is_from(staff: Client) -> None:
    upload(staff, fio__json=fio_json(), zipf_iops_1__log=iops_log(100))
    made = Benchmark.objects.get()
    text = staff.get(reverse("benchmark", args=[made.key])).content.decode()
    assert "imported" in text and "2 x SM863" in text
    assert "100" in text


def test_what_cannot_be_read_is_refused_with_the_reason(staff: Client) -> None:
    response = staff.post(
        reverse("benchmark-import"),
        {"files": [SimpleUploadedFile("notes.txt", b"It was fast.")], "title": "", "machine": ""},
    )
    assert response.status_code == 422
    text = response.content.decode()
    assert "Nothing was imported" in text and "notes.txt" in text
    assert not Benchmark.objects.exists()


def test_without_a_file_the_form_says_so(staff: Client) -> None:
    assert staff.get(reverse("benchmark-import")).status_code == 200
    assert staff.post(reverse("benchmark-import"), {}).status_code == 422
