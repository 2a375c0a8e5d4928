"""E-mails to customers about their orders: recorded with the event, sent afterwards."""
