"""The package's one exception."""


class Refused(Exception):
    """What a person did that cannot work, in one sentence with the remedy."""
