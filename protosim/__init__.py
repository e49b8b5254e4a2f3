"""A deterministic protocol simulator: protocols as state machines, mutants as proof of checks."""

__version__ = "0.1.0"
