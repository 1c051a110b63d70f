class Refused(Exception):
    """What a person did that cannot work, in one sentence with the remedy."""
