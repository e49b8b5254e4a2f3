"""Drift of Bracha's broadcast: what its paper warns of, and what real systems got wrong.

A row like A1 is a bug that was seen in the systems which its sources name; CGR is the book of
`protocols/bracha_broadcast.py`. `breaks` names the invariants that may break first, the commonest first.
`mutations/expected/bracha_broadcast.toml` has the measurements, `docs/bracha_broadcast-mutants.md` tells of them.
"""

from mutations.entry import Beyond, DriftKind, Mutation, Replace, Site

ECHOES = (
    Mutation(
        id="bracha_broadcast.one_echo_per_broadcast",
        title="A node echoes whatever the sender sends, also a second content under the same number.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("one_echo_each", "ready_for_one", "totality"),
        clause="sentecho = FALSE. CGR, Algorithm 3.18, upon event [SEND, m]",
        edits=(Site("handle_send", "drop-check", "one_echo_per_broadcast"),),
    ),
    Mutation(
        id="bracha_broadcast.handle_send/drop-sync/1",
        title="An echo leaves before the node has written down what it echoes, so that a restart makes it free again.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("ready_by_quorum", "one_echo_each", "ready_for_one"),
        clause="A correct node echoes one content per instance; here it may crash and recover. CGR §3.11, §2.2.3",
        edits=(Site("handle_send", "drop-sync", "1"),),
    ),
    Mutation(
        id="bracha_broadcast.echoed_by_quorum",
        title="A node gets ready with the first echo.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("ready_by_quorum", "ready_for_one", "integrity", "consistency"),
        clause="#(echos = m) > (N + f) / 2. CGR, Algorithm 3.18",
        edits=(Site("handle_echo", "drop-check", "echoed_by_quorum"),),
    ),
    Mutation(
        id="bracha_broadcast.echoes_are_a_count",
        title="Echoes are counted by message, so that one node's second echo is another vote.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("ready_by_quorum", "ready_for_one", "totality"),
        clause="echos[p]: one for each process. CGR, Algorithm 3.18, upon event [ECHO, m]",
        edits=(
            Replace("handle_echo", "echoes.setdefault(src, m.content)", 'echoes[f"{src} {len(echoes)}"] = m.content'),
        ),
        sources=("hyperledger-archives/fabric#370", "besu-eth/besu#1736"),
        aliases=("B1",),
    ),
    Mutation(
        id="bracha_broadcast.echoes_of_any_content",
        title="Echoes of whatever content count together for the one that has come last.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("ready_by_quorum", "ready_for_one", "totality"),
        clause="exists m ≠ ⊥ such that #({p | echos[p] = m}) > (N + f) / 2. CGR, Algorithm 3.18",
        edits=(Replace("handle_echo", "len(voters(echoes, m.content))", "len(echoes)"),),
    ),
    Mutation(
        id="bracha_broadcast.votes_without_number",
        title="Echoes are kept by sender, whichever of its broadcasts they are about.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("ready_by_quorum", "validity", "totality", "ready_for_one"),
        clause="One instance per message: brb is its name. CGR §3.11",
        edits=(
            Replace("handle_echo", "self.echoes.setdefault(instance, {})", "self.echoes.setdefault((m.sender, 0), {})"),
        ),
    ),
    Mutation(
        id="bracha_broadcast.majority_of_all",
        title="A majority of all nodes is enough to get ready.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("ready_by_quorum", "ready_for_one", "totality"),
        clause="Byzantine quorums are larger than (N + f) / 2. CGR §2.7.3",
        edits=(
            Replace(
                "half", "(self.cluster_size + tolerated(self.cluster_size)) // 2", "(self.cluster_size - 1) // 2"
            ),
        ),
    ),
)

READIES = (
    Mutation(
        id="bracha_broadcast.join_once",
        title="A node that is ready joins others that are ready for something else.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("failure", "ready_for_one", "consistency"),  # its own message makes it ready again, without end
        clause="sentready = FALSE. CGR, Algorithm 3.18, upon exists m: #(readys = m) > f",
        edits=(Site("handle_ready", "drop-check", "join_once"),),
    ),
    Mutation(
        id="bracha_broadcast.ready_once",
        title="A node gets ready again, perhaps for another content.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("ready_for_one", "consistency"),
        clause="sentready = FALSE. CGR, Algorithm 3.18, upon exists m: #(echos = m) > (N + f) / 2",
        edits=(Site("handle_echo", "drop-check", "ready_once"),),
    ),
    Mutation(
        id="bracha_broadcast.ready_at_one_correct",
        title="One ready message is enough to join, and it may be a liar's.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("ready_by_quorum", "ready_for_one", "integrity", "consistency"),
        clause="#(readys = m) > f. CGR, Algorithm 3.18: amplification",
        edits=(Site("handle_ready", "drop-check", "ready_at_one_correct"),),
    ),
    Mutation(
        id="bracha_broadcast.f_are_enough_to_join",
        title="f ready messages are enough to join, and they may all be liars'.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("ready_by_quorum", "ready_for_one", "integrity", "consistency"),
        clause="#(readys = m) > f. CGR, Algorithm 3.18: amplification",
        edits=(
            Replace("handle_ready", "len(voters(readies, m.content)) > f", "len(voters(readies, m.content)) >= f"),
        ),
    ),
    Mutation(
        id="bracha_broadcast.no_amplification",
        title="Ready messages of others make nobody ready.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("totality",),
        clause="#(readys = m) > f ∧ sentready = FALSE: send READY. CGR, Algorithm 3.18; BRB5",
        edits=(Replace("handle_ready", "len(voters(readies, m.content)) > f", "False"),),
    ),
    Mutation(
        id="bracha_broadcast.get_ready/drop-sync/1",
        title="A ready message leaves before it is written down, so that a restart makes the node free again.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("delivered_by_quorum", "ready_for_one", "totality"),
        clause="A correct node is ready for one content per instance; here it may crash and recover. CGR §3.11, §2.2.3",
        edits=(Site("get_ready", "drop-sync", "1"),),
    ),
    Mutation(
        id="bracha_broadcast.request/drop-sync/1",
        title="A sender that restarts uses a number again, for another content.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("one_content_each", "validity", "integrity"),
        clause="A correct sender broadcasts one message per instance. CGR §3.11, Module 3.12",
        edits=(Site("request", "drop-sync", "1"),),
    ),
)

DELIVERY = (
    Mutation(
        id="bracha_broadcast.delivered_once",
        title="Another ready message delivers the broadcast again.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("no_duplication",),
        clause="delivered = FALSE. CGR, Algorithm 3.18; BRB2",
        edits=(Site("handle_ready", "drop-check", "delivered_once"),),
        sources=("JGRP-1458 (belaban/JGroups PR #41)",),
        aliases=("A1",),
    ),
    Mutation(
        id="bracha_broadcast.ready_at_quorum",
        title="A node delivers with the first ready message.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("delivered_by_quorum", "consistency", "integrity"),
        clause="#(readys = m) > 2f. CGR, Algorithm 3.18",
        edits=(Site("handle_ready", "drop-check", "ready_at_quorum"),),
    ),
    Mutation(
        id="bracha_broadcast.deliver_with_f_and_one",
        title="A node delivers when it joins: f + 1 are enough for both.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("delivered_by_quorum", "totality"),
        clause="#(readys = m) > 2f. CGR, Algorithm 3.18: f + 1 of them are correct, and make all others ready",
        edits=(
            Replace("handle_ready", "len(voters(readies, m.content)) > 2 * f", "len(voters(readies, m.content)) > f"),
        ),
    ),
)

OPTIMISATIONS = (
    Mutation(
        id="bracha_broadcast.ready_without_echoing",
        title="A node that hears of a content from a peer's echo takes it for the sender's and echoes it as well.",
        kind=DriftKind.OPTIMISATION,
        breaks=("ready_by_quorum", "one_echo_each", "integrity", "ready_for_one", "consistency", "validity"),
        clause="upon event [SEND, m] from p = s: only the sender's word is echoed. CGR, Algorithm 3.18",
        edits=(
            Replace(
                "handle_echo",
                "instance = (m.sender, m.number)",
                "instance = (m.sender, m.number)\n"
                "if instance not in self.echoed:  # the sender's message is late: the echo says what it is\n"
                "    self.handle_send(m.sender, Send(m.number, m.content))",
            ),
        ),
        message="""Echo as soon as the content is known

A slow link from the sender delayed a node's echo, and so everybody's delivery, although its peers had told it the
content long before. An echo carries all that the sender's message does: handle it as one.
""",
    ),
    Mutation(
        id="bracha_broadcast.forget_what_is_delivered",
        title="A node frees the votes on a broadcast when it has delivered it, and no longer repeats its own.",
        kind=DriftKind.OPTIMISATION,
        breaks=("totality", "validity"),
        clause="A correct node's READY reaches every correct node. CGR §3.11.2, Correctness: totality",
        edits=(
            Replace(
                "my_readies",
                "[Ready(said.sender, said.number, said.content) for said in self.disk.ready]",
                "[\n"
                "    Ready(said.sender, said.number, said.content)\n"
                "    for said in self.disk.ready\n"
                "    if (said.sender, said.number) not in self.delivered\n"
                "]",
            ),
        ),
        message="""Stop talking about what is delivered

After a restart of a peer every node told it the whole history again. What this node has delivered is settled, with a
quorum behind it; there is no need to bring it up once more.
""",
    ),
)

CATALOGUE = (*ECHOES, *READIES, *DELIVERY, *OPTIMISATIONS)

BEYOND = (
    Beyond("A3", "A replayed old update is applied again in causal order.", "an order among broadcasts"),
    Beyond("A5", "Views are installed out of order.", "views of a changing membership"),
)
