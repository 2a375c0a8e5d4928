"""Who comes in, and what changes about who may: the security log, and letters to the owner."""
