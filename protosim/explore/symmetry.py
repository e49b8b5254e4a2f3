"""Symmetry: where nodes are interchangeable, states that differ only in the nodes' names are one.

Of each such class one state stands for all: the nodes are sorted by their shape (what every renaming leaves the same),
and of the renamings that do so the one is taken that makes the least state. After Ip and Dill, "Better
verification through symmetry", 1996; a scalarset is the nodes' names.
"""

from itertools import permutations
from typing import Any

import attrs

from protosim.explore.freeze import rename
from protosim.explore.nodes import Event
from protosim.explore.space import Cut, Next, Space, State, Twice
from protosim.explore.watch import Broken

Renaming = int
"""Which permutation of the nodes; 0 changes nothing."""


class Quotient:
    """A space of which nodes are interchangeable, as a System."""

    def __init__(self, space: Space) -> None:
        self.space, self.n = space, space.n
        self.pulse = space.pulse
        self.permutations = list(permutations(range(space.n)))  # old place -> new place
        self.names = [
            {name: space.ids[p[i]] for i, name in enumerate(space.ids)} for p in self.permutations
        ]
        count = len(self.permutations)
        self.nodes: list[dict[int, int]] = [{} for _ in range(count)]
        self.records: list[dict[int, int]] = [{} for _ in range(count)]
        self.events: list[dict[int, int]] = [{} for _ in range(count)]
        self.shapes: dict[int, int] = {}
        self.candidates: dict[tuple[int, ...], list[Renaming]] = {}  # by each node's first place in order of shape

    def initial(self) -> tuple[State, Broken | None]:
        state, broken = self.space.initial()
        return self.canonical(state), broken

    def successors(self, state: State) -> list[Next]:
        canonical = self.canonical
        return [
            (event, canonical(after) if broken is None else state, broken)
            for event, after, broken in self.space.successors(state)
        ]

    def judge(self, state: State) -> None:
        return None

    def canonical(self, state: State) -> State:
        """The state that stands for this one."""
        renamings = self._renamings(state)
        if len(renamings) > 1:
            return min([self.image(renaming, state) for renaming in renamings])
        return self.image(renamings[0], state) if renamings[0] else state

    def _renamings(self, state: State) -> list[Renaming]:
        """Those that sort the nodes by shape."""
        known = self.shapes
        shapes = [known[node] if node in known else self._shape(node) for node in state[: self.n]]
        in_order = sorted(shapes)
        places = tuple([in_order.index(shape) for shape in shapes])
        found = self.candidates.get(places)
        if found is None:
            found = self.candidates[places] = [
                number
                for number, p in enumerate(self.permutations)
                if all(in_order[p[i]] == shape for i, shape in enumerate(shapes))
            ]
        return found

    def _shape(self, node: int) -> int:
        """A number that a node's state and all its images share."""
        images = {self._node(renaming, node) for renaming in range(len(self.permutations))}
        shape = min(images)
        for image in sorted(images):
            self.shapes[image] = shape
        return shape

    def image(self, renaming: Renaming, state: State) -> State:
        """The state with every node under another name."""
        n, p = self.n, self.permutations[renaming]
        nodes, records, events = self.nodes[renaming], self.records[renaming], self.events[renaming]
        place = [0] * n
        for i in range(n):
            node = state[i]
            place[p[i]] = nodes[node] if node in nodes else self._node(renaming, node)
        record = state[n]
        renamed = records[record] if record in records else self._record(renaming, record)
        flying = [events[event] if event in events else self.event(renaming, event) for event in state[n + 2 :]]
        flying.sort()
        return (*place, renamed, state[n + 1], *flying)

    # -- Parts, renamed once -------------------------------------------------------------------------

    def _node(self, renaming: Renaming, node: int) -> int:
        known = self.nodes[renaming]
        if node not in known:
            space = self.space
            known[node] = space.state(space.nodes.renamed(space.states.of[node], self.names[renaming]))
        return known[node]

    def _record(self, renaming: Renaming, record: int) -> int:
        renamed = self.records[renaming][record] = self.space.watch.renamed(record, self.names[renaming])
        return renamed

    def event(self, renaming: Renaming, event: int) -> int:
        known = self.events[renaming]
        if event not in known:
            known[event] = self.space.number(self._renamed(renaming, self.space.events.of[event]))
        return known[event]

    def _renamed(self, renaming: Renaming, event: Any) -> Event | Cut | Twice:
        if not isinstance(event, Event):
            renamed: Cut | Twice = attrs.evolve(event, event=self.event(renaming, event.event))
            return renamed
        p = self.permutations[renaming]
        content = rename(event.content, self.names[renaming], self.space.ids)
        return attrs.evolve(event, at=p[event.at], src=p[event.src] if event.src >= 0 else -1, content=content)

    # -- Back ----------------------------------------------------------------------------------------

    def events_of(self, path: tuple[int, ...]) -> tuple[int, ...]:
        """The events of a path of representatives, as events of the space itself."""
        raw, _ = self.space.initial()
        events: list[int] = []
        total = tuple(range(self.n))  # from places in the space to places in the representative
        state = raw
        for choice in (-1, *path):
            if choice >= 0:
                back = self.permutations.index(tuple(total.index(i) for i in range(self.n)))
                event, raw, _ = self.space.successors(state)[choice]
                events.append(self.event(back, event))
            renaming = self._chosen(raw)
            state = self.image(renaming, raw)
            total = tuple(self.permutations[renaming][i] for i in total)
        return tuple(events)

    def _chosen(self, state: State) -> Renaming:
        """The renaming that makes the state its representative."""
        return min(self._renamings(state), key=lambda renaming: self.image(renaming, state))
