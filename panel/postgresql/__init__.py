"""Django's backend for PostgreSQL, but quicker to read moments: a page has a thousand of them."""
