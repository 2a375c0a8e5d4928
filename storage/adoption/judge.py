"""Previews a request for adoption: the result for each row. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum

from storage.naming import name_fault


@dataclass(frozen=True, slots=True)
class AdoptionQuestion:
    """One row: `volume` is "VG/LV", "HOST:VG/LV" or an LV's uuid; `customer` a customer's name,
    external id or key. `line` is its line in the file; `problem` why it cannot be used, "" for
    nothing."""

    line: int
    volume: str
    customer: str
    external_id: str = ""
    label: str = ""
    by_pattern: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A volume with its place. `owner` is "" while it has no customer; `host_use` says what the
    host itself uses it for ("mounted at /srv"), "" where it does not, and `is_hosts_own` that the
    host lives on it; `is_missing` that the last inventory came without it, `is_allowed` that its
    group may be changed, `is_managed` that it carries our tag."""

    key: str
    host_name: str
    vg_name: str
    lv_name: str
    lv_uuid: str
    guest: str
    owner: str
    is_adopted: bool
    host_use: str
    is_missing: bool
    is_allowed: bool
    is_managed: bool
    size_bytes: int
    is_hosts_own: bool = False

    @property
    def place(self) -> str:
        return f"{self.host_name}:{self.vg_name}/{self.lv_name}"

    @property
    def guest_names(self) -> tuple[str, ...]:
        """Names of its guests without their disks: "web12 · vdb" is of the guest "web12"."""
        names = (guest.partition(" · ")[0] for guest in self.guest.split(", ") if guest)
        return tuple(dict.fromkeys(names))


@dataclass(frozen=True, slots=True)
class Buyer:
    """A customer as a row may name it."""

    key: str
    name: str
    external_id: str


class AdoptionVerdict(StrEnum):
    """What comes of a row."""

    ADOPT = "adopt"
    ALREADY = "already"
    UNKNOWN = "unknown"
    AMBIGUOUS = "ambiguous"
    ID_TAKEN = "id_taken"
    CUSTOMER_UNKNOWN = "customer_unknown"
    HOSTS_OWN = "hosts_own"
    UNUSABLE = "unusable"


@dataclass(frozen=True, slots=True)
class Judgement:
    """`candidate` is None where none, or more than one, is meant. `customer_key` is "" for a
    customer that is to be made under `customer_name`."""

    ask: AdoptionQuestion
    verdict: AdoptionVerdict
    message: str
    candidate: Candidate | None = None
    customer_key: str = ""
    customer_name: str = ""

    @property
    def is_good(self) -> bool:
        return self.verdict == AdoptionVerdict.ADOPT


def judge_rows(
    asks: Sequence[AdoptionQuestion],
    candidates: Iterable[Candidate],
    buyers: Iterable[Buyer],
    taken_ids: AbstractSet[str],
    *,
    make_customers: bool,
) -> tuple[Judgement, ...]:
    """One judgement a row, in the order of `asks`. `taken_ids` are external ids of volumes;
    `make_customers` lets a row name a customer that does not exist yet."""
    by_name: dict[str, list[Candidate]] = {}
    for each in candidates:
        for name in (f"{each.vg_name}/{each.lv_name}", each.place, each.lv_uuid):
            by_name.setdefault(name, []).append(each)
    known: dict[str, dict[str, Buyer]] = {}
    for buyer in buyers:
        for name in (buyer.key, buyer.external_id, buyer.name):
            known.setdefault(name, {})[buyer.key] = buyer
    used: set[str] = set()
    judgements = []
    for ask in asks:
        judged = _judge(ask, by_name, known, taken_ids, make_customers)
        candidate = judged.candidate
        if judged.is_good and candidate is not None and candidate.key in used:
            message = "Another row names the same volume."
            judged = Judgement(ask, AdoptionVerdict.AMBIGUOUS, message, candidate)
        if judged.is_good and candidate is not None:
            used.add(candidate.key)
        judgements.append(judged)
    return tuple(judgements)


def _judge(
    ask: AdoptionQuestion,
    by_name: dict[str, list[Candidate]],
    known: dict[str, dict[str, Buyer]],
    taken_ids: AbstractSet[str],
    make_customers: bool,
) -> Judgement:
    if ask.problem:
        message = f"Line {ask.line}: {ask.problem}"
        return Judgement(ask, AdoptionVerdict.UNUSABLE, message)
    for text in filter(None, (ask.customer, ask.external_id, ask.label)):
        # The customer's may be what a guest calls itself.
        if (fault := name_fault(text)) is not None:
            return Judgement(ask, AdoptionVerdict.UNUSABLE, fault.message)
    matches = by_name.get(ask.volume, [])
    if not matches:
        return Judgement(ask, AdoptionVerdict.UNKNOWN, "No host has this volume.")
    if len(matches) > 1:
        places = ", ".join(sorted(each.place for each in matches)[:5])
        return Judgement(
            ask,
            AdoptionVerdict.AMBIGUOUS,
            f"Several volumes match: {places}. Enter one of these.",
        )
    (candidate,) = matches
    if (barred := _barred(ask, candidate)) is not None:
        return barred
    if ask.external_id and ask.external_id in taken_ids:
        message = f"Another volume has the external id {ask.external_id}."
        return Judgement(ask, AdoptionVerdict.ID_TAKEN, message, candidate)
    if not ask.customer:
        why = (
            "The volume has no guest whose name could be used."
            if ask.by_pattern
            else "The customer is missing."
        )
        return Judgement(ask, AdoptionVerdict.CUSTOMER_UNKNOWN, why, candidate)
    meant = list(known.get(ask.customer, {}).values())
    if len(meant) > 1:
        message = f"{len(meant)} customers are named {ask.customer}. Enter the external id."
        return Judgement(ask, AdoptionVerdict.AMBIGUOUS, message, candidate)
    if not meant and not make_customers:
        message = f"There is no customer {ask.customer}."
        return Judgement(ask, AdoptionVerdict.CUSTOMER_UNKNOWN, message, candidate)
    if not meant:
        message = f"Will be assigned to {ask.customer}, a new customer."
        return Judgement(ask, AdoptionVerdict.ADOPT, message, candidate, "", ask.customer)
    (buyer,) = meant
    return Judgement(
        ask,
        AdoptionVerdict.ADOPT,
        f"Will be assigned to {buyer.name}.",
        candidate,
        buyer.key,
        buyer.name,
    )


def _barred(ask: AdoptionQuestion, candidate: Candidate) -> Judgement | None:
    """Why the volume cannot be adopted for any customer; None where it can."""
    if candidate.is_adopted or candidate.owner:
        whose = f" to {candidate.owner}" if candidate.owner else ""
        return Judgement(ask, AdoptionVerdict.ALREADY, f"Already assigned{whose}.", candidate)
    if candidate.is_missing:
        message = f"The volume is missing from the last inventory of {candidate.host_name}."
        return Judgement(ask, AdoptionVerdict.UNKNOWN, message, candidate)
    if candidate.is_hosts_own:
        message = (
            f"The host itself runs on this volume ({candidate.host_use}), so it cannot be assigned."
        )
        return Judgement(ask, AdoptionVerdict.HOSTS_OWN, message, candidate)
    if ask.by_pattern and candidate.host_use:
        message = (
            f"The host itself uses this volume ({candidate.host_use}). A pattern skips such "
            "volumes."
        )
        return Judgement(ask, AdoptionVerdict.HOSTS_OWN, message, candidate)
    return None
