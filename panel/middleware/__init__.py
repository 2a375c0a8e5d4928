"""What happens to every request before and after its page.

In: requests. Out: requests with a row scope and rights, or a refusal; headers of the answer.
"""
