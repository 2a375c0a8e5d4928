"""Who asks for a job, and by which way."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser

from jobs.models import Door


@dataclass(frozen=True, slots=True)
class Asker:
    """`token` is the public part of an API token's name, `address` where the request came from."""

    actor: AbstractBaseUser | None
    address: str | None
    door: Door = Door.PAGE
    token: str = ""
