"""Files of pages, each under a name with the hash of its content."""

from __future__ import annotations

from whitenoise.storage import CompressedManifestStaticFilesStorage

IMPORTS = (r'(?P<matched>from "(?P<url>\.{1,2}/[^"]+)";)', 'from "%(url)s";')


class HashedFiles(CompressedManifestStaticFilesStorage):
    """Also the modules that our scripts import: browsers keep them for good, where they would ask
    for each one anew after a minute."""

    # Not those of others, which Django would read too: they import what no page has.
    patterns = (*CompressedManifestStaticFilesStorage.patterns, ("js/*.js", (IMPORTS,)))
