"""Django's backend for PostgreSQL with faster decoding of timestamps: a page has a thousand of
them."""
