"""What runs inside a worker: the candidate's nodes, and the loop that hands them their events.

It is started as a script, in a sandbox, in a process that has only the bundle to import from. Before any candidate code
is loaded the pipes have moved away from the standard descriptors, so nothing that is printed can be taken for a frame.
After that nothing here can be trusted, nor is it: see `protosim.score.step`.
"""

import os
import signal
import sys
import types
from collections.abc import Callable
from typing import Any

FILE = "candidate.py"
PATIENCE = 2  # seconds of CPU time for one event
LOADING = 4  # for the candidate's module: a large protocol takes a part of one, and more on a slow machine


def main() -> None:
    frames_in, frames_out = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    serve(os.fdopen(frames_in, "rb"), os.fdopen(frames_out, "wb"))


def serve(frames_in: Any, frames_out: Any) -> None:
    """Load the candidate, then answer event after event, until the parent closes the pipe."""
    from protosim.score import step

    def receive() -> Any:
        header = frames_in.read(step.LENGTH.size)
        return step.decode(frames_in.read(step.LENGTH.unpack(header)[0])) if header else None

    def answer(content: Any) -> None:
        frames_out.write(step.pack(content))
        frames_out.flush()

    host = Host()
    answer(host.protect(host.load, receive(), LOADING))
    while (events := receive()) is not None:
        answer([host.protect(host.handle, raw) for raw in events])


class Looping(BaseException):
    """A handler used up its CPU time."""


class Host:
    """The candidate, and its nodes by slot."""

    def __init__(self) -> None:
        self.nodes: dict[int, Any] = {}
        self.spec: Any = None
        self.classes: dict[str, Any] = {}
        self.patience = PATIENCE
        signal.signal(signal.SIGVTALRM, self.out_of_time)

    def out_of_time(self, *_: Any) -> None:
        raise Looping(f"it used {self.patience} s of CPU time: it seems to loop for ever")

    def protect(self, work: Callable[[Any], Any], argument: Any, patience: int = PATIENCE) -> Any:
        """The answer of `work`, or the sentence of what it raised."""
        try:
            self.patience = patience
            signal.setitimer(signal.ITIMER_VIRTUAL, patience, patience)
            return work(argument)
        except BaseException as error:
            return spell(error)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def load(self, source: str) -> str:
        from protosim.api import ProtocolSpec
        from protosim.values import classes_of

        module = types.ModuleType("candidate")
        sys.modules["candidate"] = module
        exec(compile(source, FILE, "exec", dont_inherit=True), module.__dict__)
        spec = getattr(module, "PROTOCOL", None)
        if not isinstance(spec, ProtocolSpec):
            return "it lacks the entry point of a protocol: PROTOCOL = ProtocolSpec(...)"
        self.spec, self.classes = spec, classes_of(spec.node)
        return ""

    def handle(self, raw: list[Any]) -> list[Any]:
        from protosim import api
        from protosim.score import step

        api.refusals.clear()
        slot, clock, kind, details = step.event_from_wire(raw, self.classes)
        if kind == step.START:
            self.nodes[slot] = self.boot(*details)
        node = self.nodes[slot]
        node.now = clock
        if kind == step.DELIVER:
            node.receive(*details)
        elif kind == step.TIMEOUT:
            node.TIMERS[details[0]](node)
        elif kind == step.REQUEST:
            node.request(*details)
        else:
            node.start()
        effects = step.effects_to_wire(node._effects)
        node._effects.clear()
        return [effects, [list(names) for names in api.refusals]]

    def boot(self, me: str, ids: tuple[str, ...], switches: Any, contents: Any) -> Any:
        from protosim.api import Log

        spec = self.spec
        image = {name: Log(x[1:], x[0]) if name in spec.disk.LOGS else x for name, x in contents}
        return spec.boot(me, ids, spec.switches(**dict(switches)), image)


def spell(error: BaseException) -> str:
    """What was raised, and where in the candidate, whatever the exception's own methods do."""
    try:
        trace, where = error.__traceback__, ""
        while trace is not None:
            code = trace.tb_frame.f_code
            if code.co_filename == FILE:
                where = f", in {code.co_name}, line {trace.tb_lineno}"
            trace = trace.tb_next
        return f"{type(error).__name__}: {str(error)[:300]}{where}"
    except BaseException:
        return "it raised what cannot be described"


if __name__ == "__main__":
    main()
