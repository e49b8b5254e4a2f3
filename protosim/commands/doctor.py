"""What this machine has of the tools that protosim uses, and how to get the rest."""

import argparse

import attrs

from protosim import doctor
from protosim.output import Answer, Output


def options(parser: argparse.ArgumentParser) -> None:
    """None."""


def run(args: argparse.Namespace, out: Output) -> Answer:
    tools = doctor.report()
    out.say(doctor.render(tools))
    return Answer("ok" if doctor.healthy(tools) else "error", {"tools": [attrs.asdict(tool) for tool in tools]})
