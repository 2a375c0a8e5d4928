"""How the SSD that there is, or one more, is divided over volumes. Pure.

In: of each volume its choices, each with the waiting that it saves, the SSD that it takes and what
it writes there. Out: one choice for each.
"""
