"""E-mails to customers about their orders: written down with what they tell of, sent after it."""
