"""Bounded exhaustive exploration: every schedule within bounds, over the protocol's own handlers.

`space` and what it uses (`nodes`, `watch`, `freeze`, `bounds`) say what the states of a protocol are and what can
happen next; `symmetry` makes one of those that differ in nodes' names only; `model` is the same for shared-state
models. `search` walks them breadth first; `lasso` looks for fair cycles; `story` makes a scenario of what was found.
"""
