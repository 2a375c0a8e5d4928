"""Why a volume is slow, or a disk busy: the card and its pages."""
