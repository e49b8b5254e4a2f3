"""The commands of the command line, one a file: a docstring, `options(parser)` and `run(args, out) -> Answer`."""
