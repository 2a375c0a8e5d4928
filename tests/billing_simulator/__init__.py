"""A billing system for demos, tests and integrators: takes messages, answers, makes signed calls.

`python -m tests.billing_simulator` runs it from a checkout; docs/billing.md describes it.
"""
