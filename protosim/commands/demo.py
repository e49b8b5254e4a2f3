"""The whole idea in a minute, on real input: break Raft, catch it, replay it, score a repair.

Writes what it finds to a folder, demo/ by default. Exits with 0 if everything went as told.
"""

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path

import attrs

import mutations
from mutations import engine
from protosim import counterexample, files
from protosim.commands.hunt import keep, search, tell_saved
from protosim.commands.score import judge, tell
from protosim.counterexample import Counterexample
from protosim.narrate import tell as tell_story
from protosim.options import Bounds
from protosim.output import Answer, Output, command
from protosim.plan import Wish
from protosim.program import Program, load, reference
from protosim.replay import replay
from protosim.show import page
from protosim.survey import Total, survey

PROTOCOL = "raft"
MUTANT = "raft.commit_current_term"
TASK = "fix_raft_safety"
EVENTS = 100_000
WISH = Wish(seed=1)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FOLDER", default="demo", help="where to write (default: demo)")


def run(args: argparse.Namespace, out: Output) -> Answer:
    folder = Path(args.output)
    files.require_writable(folder / "counterexample.json")
    unexpected: list[str] = []
    for chapter in (unbroken(out), broken(out), caught(folder, out), repaired(folder, out)):
        unexpected += chapter
    out.say()
    if unexpected:
        out.verdict("error", f"not as told: {'; '.join(unexpected)}.")
        return Answer("error", {"message": "; ".join(unexpected), "folder": str(folder)})
    out.verdict("ok", f"everything went as told. What was found is in {folder}/.")
    return Answer("ok", {"message": None, "folder": str(folder)})


# Each chapter yields what did not go as told.


def unbroken(out: Output) -> Iterator[str]:
    out.heading("1. Raft as the paper has it, under chaos")
    total = Total()
    with out.progress(EVENTS) as tick, contextlib.closing(survey(reference(PROTOCOL), WISH, None)) as runs:
        for seen in runs:
            total.add(seen)
            tick(seen.run.events, f"{total.events:,} events")
            if total.events >= EVENTS or total.violation is not None:
                break
    goals = ", ".join(sorted(total.reached)).replace("_", " ")
    fired = ", ".join(name.replace("_", " ") for name in sorted(total.faults_fired))
    out.prose(
        f"{total.runs} runs of a portfolio of schedulers, {total.events:,} events, "
        f"{len(total.states):,} distinct abstract states."
    )
    out.table(
        [
            ("what went wrong around it", fired),
            ("what it achieved", goals),
            ("what its checks refused", "each of these was the only reason to refuse a message, so many times:"),
        ]
    )
    out.table([(check, f"{total.refused_alone[check]:,}") for check in sorted(total.refused)], "  ")
    if total.status == "ok":
        out.verdict("ok", "no invariant broke, no warning was given, every goal was reached.")
    else:
        yield f"the unbroken protocol came to {total.status}"


def broken(out: Output) -> Iterator[str]:
    out.heading(f"2. One check is removed: {MUTANT}")
    source = reference(PROTOCOL).source
    mutation = mutations.find(PROTOCOL, MUTANT, source)
    out.prose(f"{mutation.title} The paper demands: {mutation.clause}.")
    diff = engine.diff(source, engine.apply(source, mutation), f"protocols/{PROTOCOL}.py")
    tones = {"-": "31", "+": "32", "@": "36"}
    for line in diff.splitlines():
        out.say(f"  {out.style(line, tones[line[0]]) if line[0] in tones else line}")
    yield from ()


def caught(folder: Path, out: Output) -> Iterator[str]:
    out.heading("3. A hunt finds the run in which that matters, and shortens it to a story")
    mutant = load(PROTOCOL, [MUTANT])
    path = folder / "counterexample.json"
    found = search(mutant, WISH, Bounds(runs=1_000), out)
    if found.status != "violation":
        yield f"the hunt came to {found.status}"
        return
    saved = keep(mutant, found, WISH, path, out)
    tell_saved(mutant, saved, path, out)
    drawing = path.with_suffix(".html")
    files.write(drawing, page.render(tell_story(mutant, saved.scenario, command("replay", str(path)))[1]))
    out.say(f"  open:   {drawing} in a browser, to step through it")
    yield from replayed(mutant, path, out)


def replayed(mutant: Program, path: Path, out: Output) -> Iterator[str]:
    out.heading("4. The file replays it, on the broken code and on the unbroken")
    saved: Counterexample = counterexample.load(path)
    again = replay(saved, mutant)
    out.prose(f"With the check removed: {again.sentence}; the digest {again.run.digest} is the recorded one.")
    if again.outcome != "same" or not again.identical:
        yield "the counterexample did not replay"
    healthy = replay(saved, reference(PROTOCOL))
    out.prose(f"With the check in place: {healthy.sentence}.")
    if healthy.outcome not in ("gone", "diverged"):
        yield "the unbroken protocol broke in the replay"


def repaired(folder: Path, out: Output) -> Iterator[str]:
    out.heading(f"5. The same engine scores repairs: {TASK}, five checks missing at once")
    good = reference(PROTOCOL).source
    candidates = [("with one of the five left out", engine.apply(good, mutations.find(PROTOCOL, MUTANT, good)), 0.0)]
    candidates.append(("with all five in place", good, 1.0))
    for number, (which, source, expected) in enumerate(candidates, 1):
        path = folder / f"repair_{number}.py"
        files.write(path, source)
        out.say()
        out.say(f"A repair {which}:  {command('score', TASK, str(path))}")
        result = judge(TASK, path, out)
        tell(attrs.evolve(result, failures=result.failures[:1]), out)
        if result.score != expected:
            yield f"the repair {which} scored {result.score}, not {expected}"
        named = [bug for bug, state in result.bugs.items() if state == "unfixed"]
        if expected == 0 and named != [MUTANT]:
            yield f"the score named {', '.join(named) or 'no bug'}, not {MUTANT}"
