"""Examples of the OpenAPI description: one for each body of a request and of an answer.

They are put together from the shapes, so that no field is ever missing; what stands for a text is
here by the name of its field. The body of a request has the required fields, and typical optional
ones.
"""

from __future__ import annotations

from typing import Any, Final

from panel.api.framework.shape import Json
from storage.planner.wish import CACHES

JSON: Final = "application/json"
API: Final = "/api/v1"
VOLUME, JOB, CUSTOMER = "q5tmzk7xw2ad4hvn", "n3c7yb2kfr5xq6wu", "d4kx7m2vqz5hbt3a"
HOST, PLAN, ORDER = "h6r2vwn4cq7jx5te", "p7b3kq5xz2mt6cva", "r2wq5vx7kd3nz6ty"
OTHER: Final = "a4mz7c2xk5qv3bth"
PERSON: Final = "y2kd6wq4xt7mb3vz"
DISK: Final = f"/api/v1/hosts/{HOST}/disks/{OTHER}"
EVENT: Final = "k4zq7m2xv5a6bhtw"
UUID: Final = "mV2xqD-7tLb-Qk4R-9sWz-XcA1-hJ6e-PnYf3G"
NOON: Final = "2026-11-23T12:00:00Z"
GIB: Final = 1 << 30
TEXTS: Final = {
    "accept_errors": "The cable was replaced.",
    "accepted": "SHA256:Q2xkb3JlbSBpcHN1bSBkb2xvciBzaXQgYW1ldCBjb25z",
    "account": "tiercel",
    "action": "retire",
    "actor": "ann@example.com",
    "add_commands": "mdadm --manage /dev/md0 --add /dev/sdd1",
    "address": "192.0.2.10",
    "after": "6.1.0-28",
    "alert": OTHER,
    "alert_keys": OTHER,
    "allowed_vgs": "vg0",
    "api_version": "1",
    "argv": "lvchange",
    "array": "md0",
    "array_uuid": "3aaa0122:29827cfa:5331ad66:ca767371",
    "author": "ann@example.com",
    "basis": "Based on your wait time last week.",
    "before": "6.1.0-26",
    "boot_id": "0c8e3b5a-5d1f-4f7e-9f5c-2a6b7c8d9e0f",
    "by": "ann@example.com",
    "cache_plan": PLAN,
    "cause": None,
    "change": "kernel",
    "code": "drift",
    "content": "{}",
    "confirm_code": "bcache_bvec_5_15",
    "confirm_label": "crm-data",
    "correction": "Wait until it has ended, or cancel it.",
    "counter": "reallocated_sectors",
    "currency": "EUR",
    "customer": CUSTOMER,
    "customer_external_id": "crm-42",
    "description": "Faster reads for databases.",
    "detail": "Another job holds the volume: Add a cache, running.",
    "dev": "8:16",
    "cut": "",
    "device": "sdb",
    "difference": "10 times faster",
    "disk": "sda",
    "disks": "sda",
    "door": "api",
    "email": "ann@example.com",
    "entrants": "lvmcache",
    "error": "",
    "error_code": "",
    "external_id": "vps-1012",
    "features": "wish",
    "figure": "iops",
    "fingerprint": "SHA256:Q2xkb3JlbSBpcHN1bSBkb2xvciBzaXQgYW1ldCBjb25z",
    "fio_version": "fio-3.33",
    "firmware": "GXA7801Q",
    "follow_keys": JOB,
    "found": "writeback",
    "headline": "lvmcache won",
    "guest": "web12 · vda",
    "host": HOST,
    "hosts": HOST,
    "hushed_by": "",
    "id": EVENT,
    "instance": "urn:tiercel:request:59c5f611a17a4c7ebd34c4440a46c1a5",
    "instead": "Only SSD for the whole volume helps: it needs 40 GiB; 6 GiB of SSD are free.",
    "intent": "upgrade",
    "item": "linux",
    "job": f"{API}/jobs/{JOB}",
    "kernel": "6.1.0-28-amd64",
    "kernel_after": "6.1.0-28",
    "kernel_b": "6.12.9-amd64",
    "kernel_before": "6.1.0-26",
    "kernels": "6.1.0-28-amd64",
    "key": OTHER,
    "kind": "add-cache",
    "label": "crm-data",
    "lacks": "",
    "load": "zipf_read 2 x 8 x 4 KiB",
    "last_used_address": "192.0.2.77",
    "level": "raid1",
    "line": "curl -sf https://panel.example.com/enrol/… | sh",
    "link": "https://panel.example.com/invitation/…",
    "lost": "hdd, zipf_read, 1 GiB: slower by 9-12 %, 152 IOPS became 136",
    "lv": "v-q5tmzk7xw2ad4hvn",
    "machine": "2 x SM863 in RAID 10, 6.1.0-28",
    "margin": "34-38 % more IOPS than bcache",
    "machine_id": "1f0c3f7e9a5b4d628e7c2a9b6d5e4f30",
    "made_by": None,
    "member": "sdb1",
    "member_role": "",
    "members": "sdb1",
    "message": "vg0/crm-data differs from the record (Size: recorded 8 GiB, found 16 GiB).",
    "mode": "writethrough",
    "model": "Micron 5400 PRO",
    "month": "2026-11",
    "name": "crm-data",
    "networks": "192.0.2.0/24",
    "next_after": "plc_2Yb0cV…",
    "next_cursor": None,
    "note": "Backups run at 02:00.",
    "of": "crm-data",
    "options": "randread",
    "order": ORDER,
    "outcome": "finished",
    "parameter": "limit",
    "part": "a",
    "person": "ann@example.com",
    "person_name": "Ann",
    "phase": "done",
    "plan": PLAN,
    "pointer": "/cache/size_bytes",
    "proof": "ready",
    "protocol": "SATA",
    "reason": "Disks are being replaced.",
    "reasons": "4 GiB serves 77 to 94 % of reads from SSD. 32 GiB would save little more.",
    "reason_code": "",
    "recipient": "On call",
    "recorded": "writethrough",
    "refusal": None,
    "refused": "notes.txt: The file is no output of fio or YABS that is known here.",
    "remove_commands": "mdadm --manage /dev/md0 --fail /dev/sdb1 --remove /dev/sdb1",
    "request_id": "59c5f611a17a4c7ebd34c4440a46c1a5",
    "reverts": None,
    "route": "On call",
    "runs": f"{OTHER}.1",
    "scheduler": "mq-deadline",
    "scopes": "read",
    "secret": "whsec_…",
    "sentence": "Add a cache of 10 GiB to crm-data",
    "serial": "S5X1NG0R123456",
    "server": "crm.example.com",
    "severity": "warning",
    "shell": "lvchange -y --cachemode writeback vg0/v-q5tmzk7xw2ad4hvn",
    "site": "Helsinki 1",
    "sites": "Helsinki 1",
    "spares": "sdd1",
    "staff_role": "operator",
    "state": "delivered",
    "steps": "Fill the place that is free.",
    "subject": f"volume:{VOLUME}",
    "tag": "nvme",
    "tags": "nvme",
    "target": "hdd, zipf_read, 1 GiB",
    "technology": next(iter(CACHES)),
    "text": "Logical volume vg0/v-q5tmzk7xw2ad4hvn changed.",
    "tier": "hdd",
    "title": "Set the cache mode",
    "token": "k7tq2mzv5xw3",
    "transport": "sata",
    "trouble": "",
    "type": "volume.renamed",
    "types": "job.*",
    "until": NOON,
    "untold": "errors",
    "url": f"{API}/volumes/{VOLUME}",
    "user": "billing@service.invalid",
    "users": "vg0",
    "uuid": UUID,
    "verb": "cache.mode",
    "verdict": "adopt",
    "version": "1",
    "value": "6.1.0-28",
    "vg": "vg0",
    "warnings": "fio.json: fio printed zeros where nothing was measured.",
    "vg_name": "vg0",
    "vg_uuid": UUID,
    "volume": VOLUME,
    "volume_external_id": "vps-1012",
    "volume_label": "crm-data",
    "volumes": VOLUME,
    "waiting": None,
    "what": "Cache mode",
    "why": "The SSD was replaced by hand.",
    "worn_out_assumption": "As much is written as in the last 30 days.",
    "zone": "Europe/Helsinki",
}
"""By the name of the field."""
FORMATS: Final = {
    "date-time": NOON,
    "time": "22:00",
    "email": "ann@example.com",
    "uuid": "0c8e3b5a-5d1f-4f7e-9f5c-2a6b7c8d9e0f",
}
NUMBERS: Final = {
    "currency_digits": 2,
    "_bytes": 10 * GIB,
    "_minor": 490,
    "_percent": 40,
    "_seconds": 12,
    "_iops": 320.5,
    "_ms": 4.2,
    "hit_rate": 0.87,
    "waiting_reads": 1.35,
    "port": 22,
    "status": 409,
}
"""By the end of the field's name; any other number is 1, or the least there is."""
NAMED: Final = {
    "benchmark": ("benchmarks", OTHER, "bcache or lvmcache"),
    "customer": ("customers", CUSTOMER, "Acme"),
    "host": ("hosts", HOST, "stor-1"),
    "cache_plan": ("cache-plans", PLAN, "Fast"),
    "from_plan": ("cache-plans", PLAN, "Fast"),
    "to_plan": ("cache-plans", OTHER, "Faster"),
    "volume": ("volumes", VOLUME, "crm-data"),
    "hosts": ("hosts", HOST, "stor-1"),
    "volumes": ("volumes", VOLUME, "crm-data"),
    "job": ("jobs", JOB, "Add cache"),
    "order": ("orders", ORDER, "upgrade"),
    "reverts": ("orders", OTHER, "upgrade"),
    "route": ("alert-routes", OTHER, "On call"),
    "alerts": ("alerts", OTHER, "Drift"),
    "cause": ("alerts", OTHER, "Array degraded"),
    "effects": ("alerts", OTHER, "Drift"),
}
"""What a reference to another noun names, by the field that has it."""
NIGHT: Final = {"start": "02:00", "end": "05:00", "zone": "Europe/Berlin"}
OWN: Final[dict[str, Json]] = {
    "AlertRouteShape": {"url": f"{API}/alert-routes/{OTHER}", "name": "On call", "kind": "email"},
    "AlertShape": {"url": f"{API}/alerts/{OTHER}"},
    "BulkChangeShape": {"url": f"{API}/bulk-changes/{OTHER}"},
    "BenchmarkRunShape": {"key": f"{OTHER}.1"},
    "BenchmarkShape": {"url": f"{API}/benchmarks/{OTHER}", "title": "bcache or lvmcache"},
    "ContestShape": {
        "title": "Hot random reads (zipf 1.2), 4 GiB of data",
        "basis": "It rests on 4 runs against 4.",
    },
    "GateShape": {"url": f"{API}/gates/{OTHER}", "title": "Kernel gate of node3"},
    "GateTargetShape": {"target": "hdd, zipf_read, 1 GiB", "sentence": "slower by 9-12 %"},
    "GateBootShape": {"state": "done"},
    "EntrantShape": {"name": "lvmcache", "target": "lvmcache", "sentence": "slower by 24-27 %"},
    "CachePlanShape": {"key": PLAN, "url": f"{API}/cache-plans/{PLAN}", "name": "Fast"},
    "CommandShape": {"argv": ["lvchange", "-y", "--cachemode", "writeback", "vg0/crm-data"]},
    "ComparedShape": {
        **{"what": "Read time", "before": "5.00 ms", "after": "0.50 ms"},
        "verdict": "better",
    },
    "SlownessShape": {
        "what": "Reads take 24.2 ms on average (20 ms is slow).",
        "why": "web12 data has 90 % of the I/O time of sdc, this volume 7 %.",
        "lacks": [],
        "no_remedy": "",
    },
    "SlowRemedyShape": {"text": "Add a cache of 16 GiB to web12 data."},
    "SlowChangeShape": {"kind": "job", "text": "Add cache: crm-data"},
    "Conflict": {"key": JOB, "url": f"{API}/jobs/{JOB}", "state": "running"},
    "CustomerShape": {"key": CUSTOMER, "url": f"{API}/customers/{CUSTOMER}", "name": "Acme"},
    "EventDataShape": {"job": None, "order": None, "alert": None},
    "ExpectationShape": {
        "kind": "own_traffic",
        "text": "With this size, 77 to 94 % of your reads would come from SSD.",
    },
    "Fault": {"code": "too_small", "message": "At least 64 MiB."},
    "HostShape": {"key": HOST, "url": f"{API}/hosts/{HOST}", "name": "stor-1"},
    "JobShape": {"key": JOB, "url": f"{API}/jobs/{JOB}"},
    "LastJobShape": {"key": JOB, "url": f"{API}/jobs/{JOB}"},
    "DailyWindowShape": NIGHT,
    "DiskDetailShape": {"url": DISK},
    "DiskShape": {"url": DISK},
    "EnrolmentShape": {"key": HOST, "url": f"{API}/hosts/{HOST}"},
    "InvitationShape": {"url": f"{API}/invitations/{OTHER}"},
    "MembershipShape": {"url": f"{API}/members/{OTHER}"},
    "OrderShape": {"key": ORDER, "url": f"{API}/orders/{ORDER}"},
    "PersonRef": {"key": PERSON, "url": f"{API}/people/{PERSON}", "name": "Ann"},
    "PersonShape": {"key": PERSON, "url": f"{API}/people/{PERSON}", "name": "Ann"},
    "ProblemShape": {
        "type": "urn:tiercel:problem:busy",
        "title": "Conflict",
        "code": "busy",
        "doc_url": "https://panel.example.com/help/api/#code-busy",
    },
    "SilenceShape": {"url": f"{API}/silences/{OTHER}"},
    "ProofShape": {"url": f"{API}/orders/{ORDER}/proof"},
    "SlowLimitShape": {"ms": 5, "of": "plan", "name": "Fast"},
    "TagLimitShape": {"url": f"{API}/tag-limits/{OTHER}"},
    "TokenShape": {"url": f"{API}/tokens/{OTHER}", "name": "nightly", "scopes": ["read"]},
    "VolumeShape": {"key": VOLUME},
    "WebhookShape": {"url": f"{API}/webhooks/{OTHER}", "name": "CRM"},
}
"""What a shape says otherwise than its fields' names."""
LEFT_OUT: Final = {
    "EventDataShape": {
        "kind",
        "state",
        "error_code",
        "size_bytes",
        "mode",
        "intent",
        "reason_code",
        "proof",
        "verdict",
        "managed",
        "vg",
        "technology",
        "trouble",
        "name",
        "until",
        "change",
        "item",
        "before",
        "after",
        "code",
        "severity",
        "data_at_risk",
        "is_told",
        "tier",
    },
    "JobShape": {"ssd", "member"},
    "ProblemShape": {"errors", "not_before"},
}
"""Fields that exclude the others."""
ANYTHING: Final[dict[str, Any]] = {
    "cell": {"target": "lvmcache", "profile": "zipf_read", "data_bytes": 4 * GIB, "seconds": 1800},
    "spec": {"vg_name": "vg0", "data_bytes": [4 * GIB], "seconds": 1800, "repeats": 3},
    "document": {"tiercel_benchmark": 1, "runs": []},
    "runs": [{"number": 1, "cell": {"target": "ssd"}, "summary": {"iops": 92_000.5}, "files": {}}],
    "published": 92_000.5,
    "computed": 92_000.5,
    "args": {"vg": "vg0", "lv": "v-q5tmzk7xw2ad4hvn"},
    "result": {"state": "done"},
    "progress": {"label": "Writing back", "done_bytes": GIB, "total_bytes": 4 * GIB},
    "series": {"read_iops": [320.5, None]},
    "counts": {"latency": [[0, 12, 3, 0], None]},
    "least": {"read_ms": [0.2, None]},
    "most": {"read_ms": [9.1, None]},
    "labels": {"volume_1_in_flight": "crm-data"},
    "states": {"succeeded": 12},
    "error_counts": {"reallocated_sectors": 0},
    "new_errors": {},
    "urls": {"volumes": f"{API}/volumes/"},
    "units": {"read_iops": "1/s"},
    "totals": {"read_iops": 320.5},
}
MANDATE: Final = {
    "currency": "EUR",
    "cap_charge_minor": 5000,
    "cap_period_minor": 20000,
    "earliest_next_at": None,
}
QUIET: Final = {
    "zone": "Europe/Berlin",
    "quiet_end": "07:00",
    "risk_pierces": True,
}
BODIES: Final[dict[str, Json]] = {
    "AcceptFaultBody": {"reason": "No guest uses it."},
    "AcknowledgeBody": {"reason": "I replace the disk.", "until": NOON},
    "AdoptionBody": {"items": [{"volume": "crm-data", "customer": "Acme"}]},
    "AlertRouteBody": {"name": "On call", "kind": "email", "person": "ann@example.com"},
    "BenchmarkBody": {
        **{"host": HOST, "targets": ["ssd", "hdd", "lvmcache"], "profiles": ["zipf_read"]},
        **{"data_bytes": [4 * GIB], "cache_bytes": [4 * GIB]},
    },
    "BindVolumeBody": {
        "customer_external_id": "crm-42",
        "volume": VOLUME,
        "volume_external_id": "vps-1012",
    },
    "CachePlanBody": {"name": "Fast", "size_bytes": 10 * GIB},
    "ChangePlanBody": {"volume_external_id": "vps-1012", "plan": "Fast"},
    "CreateCustomerBody": {"external_id": "crm-42", "name": "Acme", "email": "ann@example.com"},
    "CustomerBody": {"name": "Acme", "external_id": "crm-42"},
    "DailyWindowBody": NIGHT,
    "HaltBody": {"reason": "The data centre has no cooling."},
    "ImportBody": {"files": [{"name": "fio.json", "content": "{}"}]},
    "InviteBody": {"email": "bob@example.com", "staff_role": "operator"},
    "LoginLinkBody": {"customer_external_id": "crm-42", "email": "ann@example.com"},
    "MatrixBody": {
        **{"host": HOST, "targets": ["ssd", "hdd", "lvmcache"], "profiles": ["zipf_read"]},
        **{"data_bytes": [4 * GIB], "cache_bytes": [4 * GIB]},
    },
    "MemberBody": {"device": "sdd", "serial": "S5X1NG0R654321"},
    "MembershipBody": {"role": "owner"},
    "NewHostBody": {"name": "stor-1"},
    "NewVolumeBody": {"size_bytes": 100 * GIB},
    "OfCustomer": {"customer_external_id": "crm-42"},
    "OrderBody": {"price_minor": 490, "currency": "EUR"},
    "PatchedAlertRouteBody": {"on": False},
    "PatchedCachePlanBody": {"on_offer": False},
    "PatchedCustomerBody": {"name": "Acme Ltd"},
    "PatchedDiskBody": {"unit_bytes": 512},
    "PatchedHostBody": {"site": "Helsinki 1", "tags": ["nvme"]},
    "PatchedMemberRoleBody": {"role": "viewer"},
    "PatchedOwnAlertRouteBody": {"paused_until": None},
    "PatchedPersonBody": {"active": False},
    "PatchedTagLimitBody": {"slow_read_ms": 5},
    "PatchedVolumeBody": {"external_id": "vps-1012"},
    "PatchedWebhookBody": {"types": ["job.*", "order.*"]},
    "PauseBody": {"now": False},
    "RotateBody": {"overlap_hours": 24},
    "ServiceBody": {"name": "billing"},
    "SetMandateBody": {"customer_external_id": "crm-42", "mandate": MANDATE},
    "ShareBody": {"days": 30},
    "SilenceBody": {"host": "stor-1"},
    "SsdBody": {"device": "sdd", "serial": "S5X1NG0R654321"},
    "StatusBody": {"order": ORDER},
    "TerminateBody": {"customer_external_id": "crm-42"},
    "TokenBody": {"name": "nightly", "days": 90},
    "TraceBody": {"minutes": 15},
    "UsageLinesBody": {"customer_external_id": "crm-42"},
    "WatchBody": {"minutes": 60},
    "WebhookBody": {"name": "CRM", "address": "https://crm.example.com/events", "types": ["job.*"]},
    "WebhookSecretBody": {"former_hours": 24},
    "WholeAlertRouteBody": {
        **{"name": "On call", "kind": "email", "address": None, "secret": None, "on": True},
        **{"hosts": [], "tags": [], "digest_hour": None, **QUIET},
    },
    "WholeMandate": MANDATE,
    "WholeOwnAlertRouteBody": {**QUIET, "paused_until": None},
    "WholeWebhookBody": {"name": "CRM", "address": None, "on": True},
    "WishBody": {"cache": {"size_bytes": 10 * GIB, "mode": "writeback"}},
}
"""Typical optional fields of bodies, and values that differ from those by field name."""


def add_examples(document: Json) -> None:
    """Name an example in each JSON body of the document, and write those that are named."""
    schemas, named = document["components"]["schemas"], dict[str, Json]()
    for operations in document["paths"].values():
        for operation in operations.values():
            makers = [(operation.get("requestBody", {}), _of_body)]
            makers += [
                (answer, _of_component)
                for status, answer in operation["responses"].items()
                if status[0] == "2"
            ]
            for holder, make in makers:
                content = holder.get("content", {}).get(JSON)
                if content is None:
                    continue
                name = content["schema"]["$ref"].rpartition("/")[2]
                named[name] = {"value": make(name, schemas)}
                content["examples"] = {"example": {"$ref": f"#/components/examples/{name}"}}
    document["components"]["examples"] = dict(sorted(named.items()))
    problem = schemas["ProblemShape"]
    problem["examples"] = [_of_component("ProblemShape", schemas)]


def _of_body(name: str, schemas: Json) -> Json:
    schema, sent = schemas[name], BODIES.get(name, {})
    return {
        field: sent[field] if field in sent else _of(each, field, schemas)
        for field, each in schema["properties"].items()
        if field in sent or field in schema.get("required", ())
    }


def _of_component(name: str, schemas: Json) -> Any:
    schema = schemas[name]
    if schema.get("type") != "object":
        return _of(schema, name, schemas)
    own, left_out = OWN.get(name, {}), LEFT_OUT.get(name, set[str]())
    return {
        field: own[field] if field in own else _of(each, field, schemas)
        for field, each in schema.get("properties", {}).items()
        if field not in left_out
    }


def _of(schema: Json, field: str, schemas: Json) -> Any:
    """A value of a field of that name."""
    for parts in ("allOf", "oneOf", "anyOf"):
        if parts in schema:
            return _of(schema[parts][0], field, schemas)
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name == "Ref":
            noun, key, label = NAMED[field]
            return {"key": key, "url": f"{API}/{noun}/{key}", "name": label}
        if "enum" not in schemas[name]:
            return _of_component(name, schemas)
        return _of(schemas[name], field, schemas)
    if "enum" in schema:
        return TEXTS[field] if TEXTS.get(field) in schema["enum"] else schema["enum"][0]
    kinds = schema.get("type")
    kind = kinds[0] if isinstance(kinds, list) else kinds
    if kind is None or "additionalProperties" in schema:
        return ANYTHING[field]
    if kind == "array":
        return [_of(schema["items"], field, schemas)]
    if kind == "boolean":
        return False
    if kind in ("integer", "number"):
        return _number(schema, field, is_whole=kind == "integer")
    if "format" in schema:
        return FORMATS[schema["format"]]
    return _text(field, may_be_null=isinstance(kinds, list))


def _number(schema: Json, field: str, *, is_whole: bool) -> float:
    number: float = next((NUMBERS[end] for end in NUMBERS if field.endswith(end)), 1)
    number = max(number, schema.get("minimum", number))
    number = min(number, schema.get("maximum", number))
    return int(number) if is_whole else float(number)


def _text(field: str, *, may_be_null: bool) -> str | None:
    text = TEXTS[field]
    return text if text is not None or may_be_null else ""
