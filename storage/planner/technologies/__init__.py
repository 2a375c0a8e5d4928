"""Cache technologies: each answers all that the rest of the panel asks of it (`technology`).

In: facts, drafts and wishes. Out: through `lookup`, the technology of a volume, and its answers.
A technology is two modules (what is on a host and how it is described; how its steps are planned),
an entry in `lookup.TECHNOLOGIES` and a class in `storage.planner.wish`.
"""
