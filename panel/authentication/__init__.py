"""How a person proves who they are, at sign-in and before an act of weight.

In: passwords, codes, keys, links. Out: a signed-in session and how fresh its proof is.
"""
