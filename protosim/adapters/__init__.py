"""Tools that are not Python: found, run within limits, and read. What they say is judged elsewhere."""
