"""What all endpoints of the API share: authentication, limits, paging, errors.

In: requests. Out: parsed requests, RFC 9457 problems, the OpenAPI document.
"""
