"""Help that the panel serves itself: the documents of `docs/`, the glossary, and a search in both.

No module here knows a page of the panel; any template may show a term of the glossary.
"""
