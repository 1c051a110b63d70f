"""What a rule of the findings has found."""

from dataclasses import dataclass


@dataclass
class Case:
    """What a rule has found; its seconds decide whether it becomes a finding."""

    seconds: float
    ranks: list[int]
    evidence: str
    query: str
