"""The fleet on a screen in an office: links that show it without a session, and the page behind
them."""
