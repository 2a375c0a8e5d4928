"""A transaction locks a volume's host before the volume, so that no two wait for each other."""

from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from storage.models import Host, Placement, Volume
from storage.row_locks import Gone, hold, hold_one
from tests import make

pytestmark = pytest.mark.django_db


def test_hosts_are_locked_before_volumes_and_each_in_order() -> None:
    volumes = [make.placement(make.volume(), make.host()).volume for _ in range(3)]
    with transaction.atomic(), CaptureQueriesContext(connection) as queries:
        assert hold(*reversed(volumes)) == volumes
    locking = [query["sql"] for query in queries if "FOR NO KEY UPDATE" in query["sql"]]
    for sql, model in zip(locking, (Host, Volume), strict=True):
        assert f'FROM "{model._meta.db_table}"' in sql and " ASC FOR NO KEY UPDATE" in sql


def test_a_volume_that_is_gone_is_missing_and_one_that_lies_nowhere_is_held() -> None:
    gone, homeless = make.volume(), make.volume()
    Volume.objects.filter(pk=gone.pk).delete()
    Placement.objects.filter(volume=homeless).update(until=timezone.now())
    with transaction.atomic():
        assert hold(gone, homeless) == [homeless]


def test_a_volume_that_is_gone_is_refused() -> None:
    gone, there = make.volume(), make.volume()
    Volume.objects.filter(pk=gone.pk).delete()
    with transaction.atomic():
        assert hold_one(there) == there
        with pytest.raises(Gone, match="no longer exists"):
            hold_one(gone)
