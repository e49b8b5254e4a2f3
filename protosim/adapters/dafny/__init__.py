"""Dafny: `tool` finds and runs it, `outcomes` reads what it says; `tokens`, `allowed` and `declarations` read what
candidates wrote, and `assembly` makes the program of which Dafny is asked.
"""
