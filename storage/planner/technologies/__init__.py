"""Cache technologies: lvmcache and bcache behind one interface (`technology`).

In: facts, drafts and wishes. Out: through `lookup`, the technology of a volume, and its answers. A
technology is two modules (its description on a host; the planning of its steps), an entry in
`lookup.TECHNOLOGIES` and a class in `storage.planner.wish`.
"""
