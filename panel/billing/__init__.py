"""The hook to a billing system: signed messages out, one question, signed calls in.

Messages follow Standard Webhooks. `docs/billing.md` is the other side's description.
"""
