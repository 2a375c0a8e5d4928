"""How people prove their identity, at sign-in and before protected actions.

In: passwords, codes, keys, links. Out: a signed-in session and the age of its proof.
"""
