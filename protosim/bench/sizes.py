"""How much is measured."""

import attrs


@attrs.frozen(kw_only=True)
class Sizes:
    """The more, the steadier the figures."""

    rounds: int = 7  # of the contenders, one after the other
    peer_events: int = 100_000  # of a contender that is no protocol
    events: int = 1_000_000  # at most, of the committed scenario
    hunts: int = 5  # for each mutant and scheduler
    hunt_events: int = 100_000  # after which a hunt gives up
    edited_runs: int = 12  # for each edit and scheduler
    scaling_runs: int = 400
    score: bool = True  # whether the judge is measured, which takes whole scores
    carried_events: int = 20_000  # over the pipe to one worker


FULL = Sizes()
QUICK = Sizes(
    rounds=2,
    peer_events=2_000,
    events=1_500,
    hunts=1,
    hunt_events=1_500,
    edited_runs=1,
    scaling_runs=4,
    score=False,
    carried_events=400,
)
