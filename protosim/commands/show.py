"""Draw a saved counterexample: in the terminal, as an SVG, or as one HTML page to step through."""

import argparse
from pathlib import Path

import attrs

from protosim import counterexample, files
from protosim.counterexample import recorded_program, source_digest
from protosim.narrate import tell
from protosim.output import Answer, Output, command
from protosim.story import Story
from protosim.words import plural

SCREEN = 60  # moments in the terminal
PAGE = 400  # moments in a drawing


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a file that `protosim hunt` has saved")
    parser.add_argument("--svg", metavar="F", help="write the diagram there")
    parser.add_argument("--html", metavar="F", help="write one self-contained page there")


def run(args: argparse.Namespace, out: Output) -> Answer:
    for name in filter(None, (args.svg, args.html)):
        files.require_writable(Path(name))
    saved = counterexample.load(Path(args.file))
    program = recorded_program(saved)
    if source_digest(program) != saved.source_digest:
        out.note("The code has changed since this was found: what is drawn is the story on the code of today.")
    _, story = tell(program, saved.scenario, command("replay", args.file))
    drawn = last(story, PAGE)
    if args.svg:
        from protosim.show import svg

        files.write(Path(args.svg), svg.render(drawn))
        out.say(f"Wrote {args.svg}.")
    if args.html:
        from protosim.show import page

        files.write(Path(args.html), page.render(drawn))
        out.say(f"Wrote {args.html}: open it in a browser.")
    if not (args.svg or args.html):
        from protosim.show import text

        out.say(text.render(last(story, SCREEN), out.width, out.color, out.unicode).rstrip())
    if len(story.moments) > (PAGE if args.svg or args.html else SCREEN):
        out.note(f"The story has {plural(len(story.moments), 'moment')}; only the last ones are drawn.")
    data = {"story": attrs.asdict(story), "svg": args.svg, "html": args.html}
    return Answer("ok", data)


def last(story: Story, most: int) -> Story:
    """The story's end, as a story."""
    moments = story.moments[-most:]
    if len(moments) == len(story.moments):
        return story
    numbers = {moment.number for moment in moments}
    return attrs.evolve(
        story,
        moments=tuple(m if m.cause in numbers else attrs.evolve(m, cause=None) for m in moments),
        lost=tuple(sent for sent in story.lost if sent[0] in numbers),
    )
