from __future__ import annotations

import re
from pathlib import Path

from django.conf import settings
from django.core.files.storage import FileSystemStorage

from panel.http.static_files import HashedFiles

OURS = Path(settings.BASE_DIR, "static")
IMPORTED = re.compile(r"""from\s*["']([^"']+)["']""")
HASHED = re.compile(r"\.{1,2}/[\w/-]+\.[0-9a-f]{12}\.js")


def test_every_module_that_a_script_imports_has_a_name_for_good(tmp_path: Path) -> None:
    storage = HashedFiles(location=tmp_path)
    source = FileSystemStorage(OURS)
    files = {
        str(each.relative_to(OURS)): (source, str(each.relative_to(OURS)))
        for each in OURS.rglob("*.js")
    }
    for name in files:
        storage.save(name, source.open(name))
    made = {(name, hashed) for name, hashed, _ in storage.post_process(files)}
    named = {name: hashed for name, hashed in made if hashed.endswith(".js")}
    imports = {
        name: IMPORTED.findall((tmp_path / hashed).read_text()) for name, hashed in named.items()
    }
    assert len(imports["js/charts.js"]) >= 10
    for name, found in imports.items():
        for each in found:
            assert HASHED.fullmatch(each), f"{name} imports {each}"
            assert (tmp_path / name).parent.joinpath(each).resolve().is_file()
