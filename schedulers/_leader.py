"""Who acts as the leader, told from outside: who keeps sending to all its peers. No message is read.

>>> lead = Lead.among(3)
>>> for dst in (1, 2, 1, 2):
...     lead.saw(0, dst)
>>> lead.leader()
0
"""

import attrs

CERTAIN = 4
"""Rounds of lead, at most: so many silent ones and a leader is forgotten."""


@attrs.define
class Lead:
    """A round is a message to each peer. A node's score is its recent rounds; each round of another takes one away."""

    reached: list[int]  # for each node, a mask of the peers that it has sent to in this round
    score: list[int]
    last: int = -1  # who last completed a round: a leader or a candidate

    @classmethod
    def among(cls, nodes: int) -> "Lead":
        return cls([0] * nodes, [0] * nodes)

    def saw(self, src: int, dst: int) -> None:
        """Somebody sent a message."""
        self.reached[src] |= 1 << dst
        if self.reached[src].bit_count() < len(self.score) - 1:
            return
        self.reached[src] = 0
        self.last = src
        for node, score in enumerate(self.score):
            self.score[node] = min(score + 1, CERTAIN) if node == src else max(score - 1, 0)

    def leader(self) -> int:
        """Its index, or -1 if nobody has completed two rounds of late. A candidate completes one."""
        best = max(self.score)
        return self.score.index(best) if best > 1 else -1
