"""Adoption: assigning volumes found on hosts to customers, with their external ids.

`asked_by_pattern` and `read_csv` parse the request, `judge` previews each row, and `adopt` carries
it out in one transaction. Nothing on a host changes here.
"""

from storage.adoption.adopt import adopt_volumes, buyers_of, candidates_of, last_batch, release
from storage.adoption.ask import COLUMNS, AdoptionQuestion, BadCsv, asked_by_pattern, read_csv
from storage.adoption.judge import AdoptionVerdict, Buyer, Candidate, Judgement, judge_rows

__all__ = [
    "COLUMNS",
    "AdoptionQuestion",
    "AdoptionVerdict",
    "BadCsv",
    "Buyer",
    "Candidate",
    "Judgement",
    "adopt_volumes",
    "asked_by_pattern",
    "buyers_of",
    "candidates_of",
    "judge_rows",
    "last_batch",
    "read_csv",
    "release",
]
