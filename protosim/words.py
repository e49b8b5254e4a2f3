"""Words that depend on a number."""


def plural(count: float, one: str, many: str = "") -> str:
    """ "1 run", "1,000 runs"; `many` where it takes more than an s."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"
