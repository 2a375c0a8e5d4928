"""The security log of sign-ins and changed credentials, and the e-mails to their owners."""
