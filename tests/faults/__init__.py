"""The fault suite: whole jobs through real PostgreSQL, real worker processes and SSH, with one
thing broken at one exact moment, and what must hold after it (`oracle`). `make faults` runs all and
writes docs/faults.md; test_part.py runs a part with every `make test`.
"""
