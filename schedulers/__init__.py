"""Schedulers, one policy a file: what the world's time is made of."""
