"""Count messages instead of senders: what arrives twice, or is asked for twice, counts twice.

A set of senders becomes a list: wherever the class makes the set, adds to it, and asks whether it is a
majority. Where answers are kept by sender in a dict whose size is asked for, each gets a place of its
own. There is no site where the class treats a set in a way that a list does not know. It is named
after the field.
"""

from collections.abc import Iterator, Sequence

import libcst as cst

from mutations.entry import DriftKind
from mutations.operators import Change, Over
from mutations.syntax import Exchange, attribute, methods, nodes, parameters, self_call

KIND = DriftKind.WEAKENED_QUORUM
TITLE = "{function} counts the messages in {which}, and not who sent them."
OVER: Over = "class"
EXAMPLES = (
    (
        """
class Raft(Node[RaftDisk]):
    votes: set[NodeId]

    def start_election(self):
        self.votes = {self.me}

    def handle_vote(self, src, m):
        self.votes.add(src)
        if self.is_majority(self.votes):
            self.lead()
""",
        """
class Raft(Node[RaftDisk]):
    votes: list[NodeId]

    def start_election(self):
        self.votes = [self.me]

    def handle_vote(self, src, m):
        self.votes.append(src)
        if len(self.votes) > self.cluster_size // 2:
            self.lead()
""",
    ),
    (
        """
class Paxos(Node[PaxosDisk]):
    def handle_accepted(self, src, m):
        self.accepted.setdefault(m.ballot, set()).add(src)
        if holds(chosen=self.is_majority(self.accepted[m.ballot])):
            self.choose(m)
""",
        """
class Paxos(Node[PaxosDisk]):
    def handle_accepted(self, src, m):
        self.accepted.setdefault(m.ballot, []).append(src)
        if holds(chosen=len(self.accepted[m.ballot]) > self.cluster_size // 2):
            self.choose(m)
""",
    ),
    (
        """
class Paxos(Node[PaxosDisk]):
    def handle_promise(self, src, m):
        self.promises[src] = m
        if self.is_majority(self.promises):
            self.accept(self.promises.values())
""",
        """
class Paxos(Node[PaxosDisk]):
    def handle_promise(self, src, m):
        self.promises[len(self.promises)] = m
        if self.is_majority(self.promises):
            self.accept(self.promises.values())
""",
    ),
    (
        """
class Raft(Node[RaftDisk]):
    def start(self):
        self.down = set()

    def forget(self, src):
        self.down.add(src)
        self.down.discard(self.me)
""",
        """
class Raft(Node[RaftDisk]):
    def start(self):
        self.down = set()

    def forget(self, src):
        self.down.add(src)
        self.down.discard(self.me)
""",
    ),
)

_ONLY_SETS = (
    "difference", "difference_update", "discard", "intersection", "isdisjoint", "issubset", "issuperset", "union",
    "update",
)  # fmt: skip


def changes(owner: cst.ClassDef, module: cst.Module) -> Iterator[Change]:
    below = [node for method in methods(owner) for node in nodes(method)]
    fields = dict.fromkeys(attribute(node) for node in below if attribute(node))
    for field in fields:
        exchanges = _as_list(field, owner, below, module) or _as_slots(field, owner, module)
        if exchanges:
            yield Change(field, exchanges)


# -- A set of senders ------------------------------------------------------------------------------


def _as_list(
    field: str, owner: cst.ClassDef, below: Sequence[cst.CSTNode], module: cst.Module
) -> tuple[Exchange, ...]:
    made: list[Exchange] = []
    added: list[Exchange] = []
    for node in below:
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value) if _holds(target, field):
                made += _listed(value)
            case cst.Call(func=cst.Attribute(value=holder, attr=cst.Name(value="setdefault")), args=[_, default]) if (
                attribute(holder) == field
            ):
                made += _listed(default.value)
            case cst.Call(func=cst.Attribute(value=holder, attr=attr)) if _holds(holder, field):
                if attr.value in _ONLY_SETS:
                    return ()
                added += [(attr, cst.Name("append"))] * (attr.value == "add")
            case cst.BinaryOperation(left=left, right=right) if _holds(left, field) or _holds(right, field):
                return ()
            case cst.AugAssign(target=target) if _holds(target, field):
                return ()
            case _:
                pass
    counted = [pair for node in below for pair in _counted(node, field, module)]
    return (*made, *added, *counted, *_annotation(field, owner)) if made and added else ()


def _holds(node: cst.CSTNode, field: str) -> bool:
    """Whether it is `self.field`, or what stands there under a key."""
    match node:
        case cst.Subscript(value=value):
            return attribute(value) == field
        case cst.Call(func=cst.Attribute(value=value, attr=cst.Name(value="get" | "setdefault"))):
            return attribute(value) == field
        case _:
            return attribute(node) == field


def _listed(value: cst.BaseExpression) -> list[Exchange]:
    match value:
        case cst.Call(func=cst.Name(value="set"), args=[]):
            return [(value, cst.List([]))]
        case cst.Set(elements=elements):
            return [(value, cst.List(elements))]
        case cst.SetComp(elt=elt, for_in=for_in):
            return [(value, cst.ListComp(elt, for_in))]
        case cst.DictComp(value=inner):
            return _listed(inner)
        case _:
            return []


def _counted(node: cst.CSTNode, field: str, module: cst.Module) -> list[Exchange]:
    if not (isinstance(node, cst.Call) and self_call(node) == "is_majority" and len(node.args) == 1):
        return []
    votes = node.args[0].value
    if not _holds(votes, field):
        return []
    return [(node, cst.parse_expression(f"len({module.code_for_node(votes)}) > self.cluster_size // 2"))]


def _annotation(field: str, owner: cst.ClassDef) -> list[Exchange]:
    return [
        (node, cst.Name("list"))
        for line in owner.body.body
        for statement in nodes(line)
        if isinstance(statement, cst.AnnAssign) and _is_name(statement.target, field)
        for node in nodes(statement.annotation)
        if _is_name(node, "set")
    ]


def _is_name(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


# -- Answers by sender -----------------------------------------------------------------------------


def _as_slots(field: str, owner: cst.ClassDef, module: cst.Module) -> tuple[Exchange, ...]:
    exchanges: list[Exchange] = []
    code = module.code_for_node(owner)
    for method in methods(owner):
        for node in nodes(method):
            match node:
                case cst.AssignTarget(target=cst.Subscript(value=holder, slice=[element])) if _holds(holder, field):
                    kept = module.code_for_node(holder)
                    by_sender = isinstance(element.slice, cst.Index) and _is_name(element.slice.value, "src")
                    is_counted = f"is_majority({kept})" in code or f"len({kept})" in code
                    if by_sender and "src" in parameters(method) and is_counted and code.count(f"{kept}[src]") == 1:
                        place = cst.parse_expression(f"len({kept})")
                        exchanges.append((element, element.with_changes(slice=cst.Index(place))))
                case _:
                    pass
    return tuple(exchanges)
