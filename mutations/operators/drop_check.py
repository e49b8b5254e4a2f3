"""Drop one check: `holds(a=..., b=...)` becomes `holds(a=...)`.

The commonest drift: what the paper demands is forgotten, and nothing complains until the schedule
that needed it comes along. Comments beside and above the check go with it. Where the check was the
only one nothing asks any more: what was done if it held is done, what was done if not is gone.
"""

from collections.abc import Iterator

import libcst as cst

from mutations.always import settled
from mutations.entry import DriftKind
from mutations.operators import Change, Over
from mutations.syntax import is_holds, nodes

KIND = DriftKind.MISSING_CHECK
TITLE = "{function} does not check {which}."
OVER: Over = "function"
EXAMPLES = (
    (
        """
def handle_vote(self, m):
    counted = holds(
        current=m.term == self.term,  # §5.1
        # A refusal is no vote.
        granted=m.granted,  # §5.2
    )
""",
        """
def handle_vote(self, m):
    counted = holds(
        current=m.term == self.term,  # §5.1
    )
""",
    ),
    (
        """
def handle_vote(self, m):
    if holds(current=m.term == self.term, granted=m.granted):
        self.votes.add(m.voter)
""",
        """
def handle_vote(self, m):
    if holds(granted=m.granted):
        self.votes.add(m.voter)
""",
    ),
    (
        """
def may_elect(self, candidate):
    return holds(
        log_up_to_date=candidate >= self.last_position(),  # §5.4.1
    )
""",
        """
def may_elect(self, candidate):
    return True
""",
    ),
    (
        """
def handle_append(self, m):
    accepted = holds(
        prev_log_matches=m.prev in self.log,  # §5.3
    )
    if not accepted:
        self.refuse(m)
        return
    self.store(m.entries)
""",
        """
def handle_append(self, m):
    self.store(m.entries)
""",
    ),
    (
        """
def handle_vote(self, m):
    if m.granted and holds(still_candidate=self.role == CANDIDATE):
        self.votes.add(m.voter)
    kept = self.log[m.base :] if holds(log_matches=m.base in self.log) else ()
    self.reset(kept)
""",
        """
def handle_vote(self, m):
    if m.granted:
        self.votes.add(m.voter)
    kept = self.log[m.base :] if holds(log_matches=m.base in self.log) else ()
    self.reset(kept)
""",
    ),
    (
        """
def may_elect(self, candidate):
    if holds(log_up_to_date=candidate >= self.last_position()):  # §5.4.1
        # Grant it.
        self.voted_for = candidate
    else:
        self.refuse(candidate)
""",
        """
def may_elect(self, candidate):
    # Grant it.
    self.voted_for = candidate
""",
    ),
)


def changes(function: cst.FunctionDef, module: cst.Module) -> Iterator[Change]:
    for call in nodes(function):
        if isinstance(call, cst.Call) and is_holds(call):
            for place, arg in enumerate(call.args):
                if arg.keyword is not None and len(call.args) > 1:
                    yield Change(arg.keyword.value, ((call, _without(call, place)),))
                elif arg.keyword is not None:
                    yield Change(arg.keyword.value, ((function, settled(function, call)),))


def _without(call: cst.Call, place: int) -> cst.Call:
    """The gap before the argument closes: what stood behind it moves up to where it stood."""
    args = list(call.args)
    dropped = args.pop(place)
    last = place == len(args)
    if place == 0:
        gap = _joined(call.whitespace_before_args, _behind(dropped), last)
        return call.with_changes(args=args, whitespace_before_args=gap)
    before = args[place - 1]
    gap = _joined(_behind(before), _behind(dropped), last)
    args[place - 1] = _followed_by(before, gap, isinstance(dropped.comma, cst.Comma))
    return call.with_changes(args=args)


def _behind(arg: cst.Arg) -> cst.BaseParenthesizableWhitespace:
    comma = arg.comma
    return comma.whitespace_after if isinstance(comma, cst.Comma) else arg.whitespace_after_arg


def _followed_by(
    arg: cst.Arg, gap: cst.BaseParenthesizableWhitespace, comma: bool
) -> cst.Arg:
    if not comma:
        return arg.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=gap)
    assert isinstance(arg.comma, cst.Comma)  # an argument followed it
    return arg.with_changes(comma=arg.comma.with_changes(whitespace_after=gap))


def _joined(
    before: cst.BaseParenthesizableWhitespace,
    behind: cst.BaseParenthesizableWhitespace,
    last: bool,
) -> cst.BaseParenthesizableWhitespace:
    """The rest of the line before the argument, then what came after the argument's own line."""
    if isinstance(before, cst.ParenthesizedWhitespace):
        if not isinstance(behind, cst.ParenthesizedWhitespace):
            return before  # it shared its line with the next one
        return before.with_changes(
            empty_lines=behind.empty_lines, indent=behind.indent, last_line=behind.last_line
        )
    return behind if last or isinstance(behind, cst.ParenthesizedWhitespace) else before
