"""What the billing simulator knows: messages, each once; questions and their answers; invoices."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any, Final

Json = dict[str, Any]
DECISIONS: Final = ("approve", "refuse", "pending", "slow")
ENDINGS: Final = {66: "refuse", 77: "pending", 88: "slow"}
"""By the last two digits of a plan's price in minor units: 10.66 a month is refused."""
REASON = "The payment was declined. Use another card, or ask us."
MATCHED = ("customer_external_id", "volume_external_id", "intent", "price_minor", "charge_minor")


class BillingLedger:
    """`rules` is a JSON list such as `[{"customer_external_id": "c-1", "decision": "refuse",
    "reason": "…"}]`: the first whose other fields (of `MATCHED`, and `plan` by name) are those of
    the order decides, then the price's ending, then `decision`. The file is read at each
    question."""

    def __init__(self, decision: str = "approve", rules: Path | None = None) -> None:
        if decision not in DECISIONS:
            raise ValueError(f"the decision is one of {', '.join(DECISIONS)}")
        self.decision, self.rules = decision, rules
        self._lock = threading.Lock()
        self._messages: dict[str, Json] = {}
        self._answers: dict[str, Json] = {}
        self._seen: dict[str, int] = {}

    def take(self, name: str, message: Json) -> Json:
        """The answer to a message; the same name again is the same message, and answered so."""
        with self._lock:
            self._seen[name] = self._seen.get(name, 0) + 1
            if name not in self._messages:
                self._messages[name] = message
                asks = message["type"] == "order.authorise"
                self._answers[name] = self._judge(message["data"]) if asks else {}
            return self._answers[name]

    def decided(self, order: str) -> None:
        """A pending order was decided by a call."""
        with self._lock:
            for name, answer in self._answers.items():
                is_it = self._messages[name]["data"].get("order") == order
                if is_it and answer.get("decision") == "pending":
                    self._answers[name] = {**answer, "is_decided": True}

    def state(self) -> Json:
        """Everything, newest message first; invoices by customer, with their sum: charges and
        months less credits, in minor units by currency."""
        with self._lock:
            messages = [
                {"id": name, "times": self._seen[name], **said, "answer": self._answers[name]}
                for name, said in reversed(self._messages.items())
            ]
        invoices: dict[str, Json] = {}
        for message in reversed(messages):
            if message["type"] == "usage.line":
                _enter(invoices, message["data"])
        pending = [each for each in messages if _is_pending(each)]
        return {"invoices": invoices, "pending": pending, "messages": messages}

    def _judge(self, order: Json) -> Json:
        rules = json.loads(self.rules.read_text()) if self.rules is not None else []
        for rule in rules:
            if _fits(rule, order):
                return {"decision": rule["decision"], "reason": rule.get("reason", "")}
        decision = ENDINGS.get(order["price_minor"] % 100, self.decision)
        return {"decision": decision, "reason": REASON if decision == "refuse" else ""}


def _fits(rule: Json, order: Json) -> bool:
    plan = (order.get("to_plan") or {}).get("name")
    fields = {**{name: order.get(name) for name in MATCHED}, "plan": plan}
    return all(fields[name] == rule[name] for name in fields if name in rule)


def _is_pending(message: Json) -> bool:
    answer = message["answer"]
    return answer.get("decision") == "pending" and not answer.get("is_decided")


def _enter(invoices: dict[str, Json], line: Json) -> None:
    name = line["customer_external_id"] or line["customer"]
    invoice = invoices.setdefault(name, {"lines": [], "sum_minor": {}})
    invoice["lines"].append(line)
    amount = -line["amount_minor"] if line["kind"] == "credit" else line["amount_minor"]
    sums = invoice["sum_minor"]
    sums[line["currency"]] = sums.get(line["currency"], 0) + amount
