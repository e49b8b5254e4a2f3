"""An unfair adversary that hunts leaders: whoever acts as one is cut off, and its messages come late, in a burst.

Timed. The network is an ordinary one until somebody keeps sending to all its peers. From then on,
in hunting seasons of one length and as keyed bits decide, nothing that this leader sends arrives
before the season's end, or nothing that is sent to it, or neither; some of it comes a season
later still. So elections storm, deposed leaders learn of it late, and stale messages of one term
arrive in the midst of another. Nothing is lost. It promises nothing: under this adversary no
progress is due.

`season` is their length, `share` how many of them are hunting seasons (1/1000).

>>> from types import SimpleNamespace
>>> world = SimpleNamespace(ids=("n1", "n2", "n3"), now=100_000, seed=3)
>>> hunter = Hunter(season=1_000_000, share=1000)
>>> [hunter.delay(world, 0, dst, "AppendEntries", 5_000) for dst in (1, 2, 1, 2)]
[5000, 5000, 5000, 905000]
"""

from typing import Any

import attrs

from protosim.api import MS
from protosim.keys import Draw, derive, exponential, mix, uniform
from protosim.schedule import Schedule

from ._leader import Lead


def draw(draw: Draw) -> dict[str, int]:
    return {
        "season": draw.choice("season", (400, 1000, 2000)) * MS,
        "share": draw.choice("share", (600, 900)),
        "request_every": draw.choice("request_every", (20, 50, 200)) * MS,
    }


@attrs.define
class Hunter:
    season: int
    share: int
    lead: Lead | None = None

    def delay(self, world: Any, src: int, dst: int, m: Any, delay: int) -> int:
        lead = self.lead
        if lead is None:
            lead = self.lead = Lead.among(len(world.ids))
        lead.saw(src, dst)
        prey = lead.leader()
        if prey not in (src, dst):
            return delay
        now: int = world.now
        number, passed = divmod(now, self.season)
        z = derive(world.seed, "season", number)
        aims = (src, dst) if z & 3 == 0 else (src,) if z & 3 < 3 else (dst,)
        if z // 4 % 1000 >= self.share or prey not in aims:
            return delay
        later = mix(z ^ delay) & 7 == 0
        return self.season - passed + delay + self.season * later


def make(params: dict[str, int]) -> Schedule:
    hunter = Hunter(params.get("season", 400 * MS), params.get("share", 600))
    return Schedule(
        delays=uniform(1 * MS, 10 * MS),
        request_gaps=exponential(params.get("request_every", 50 * MS)),
        pace=200 * MS,
        adversary=hunter.delay,
    )
