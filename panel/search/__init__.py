"""The search of the top bar.

In: a few typed words and who typed them. Out: hosts, volumes, customers and jobs with such a name.
"""
