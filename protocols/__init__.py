"""The protocols, one a file."""
