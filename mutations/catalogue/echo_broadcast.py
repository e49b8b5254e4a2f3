"""Drift of signed echo broadcast: what its book warns of, and what real systems got wrong.

A row like A1 is a bug that was seen in the systems which its sources name; CGR is the book of
`protocols/echo_broadcast.py`. `breaks` names the invariants that may break first, the commonest first.
`mutations/expected/echo_broadcast.toml` has the measurements, `docs/echo_broadcast-mutants.md` is a table of them.
"""

from mutations.entry import Beyond, DriftKind, Mutation, Replace, Site

SIGNERS = """
    echo.signer
    for echo in m.echoes
    if holds(
        certificate_verifies=self.verify(echo),
        certificate_of_sender=echo.sender == sender,
        certificate_of_number=echo.number == m.number,
        certificate_of_content=echo.digest == digest_of(m.content),
    )
"""

ECHOES = (
    Mutation(
        id="echo_broadcast.one_echo_per_broadcast",
        title="A node echoes whatever the sender sends, also a second content under the same number.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("one_echo_each", "consistency"),
        clause="if sentecho = FALSE. CGR, Algorithm 3.17, upon event [SEND, m]",
        edits=(Site("handle_send", "drop-check", "one_echo_per_broadcast"),),
    ),
    Mutation(
        id="echo_broadcast.handle_send/drop-sync/1",
        title="An echo leaves before the node has written down what it echoes, so that a restart makes it free again.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("delivered_by_quorum", "one_echo_each", "consistency"),
        clause="A correct node echoes one content per instance; here it may crash and recover. CGR §3.10, §2.2.3",
        edits=(Site("handle_send", "drop-sync", "1"),),
    ),
    Mutation(
        id="echo_broadcast.digest_without_number",
        title="A node remembers whose broadcast it has echoed and not which, so each sender gets one echo.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("validity", "delivered_by_quorum"),
        clause="One instance per message: bcb is its name. CGR §3.10",
        edits=(
            Replace(
                "start",
                "{(e.sender, e.number): e.digest for e in self.disk.echoed}",
                "{(e.sender, 1): e.digest for e in self.disk.echoed}",
            ),
            Replace("handle_send", "(src, m.number), digest_of(m.content)", "(src, 1), digest_of(m.content)"),
        ),
    ),
    Mutation(
        id="echo_broadcast.handle_send/invert-decision/one_echo_per_broadcast",
        title="A node echoes only what contradicts what it has echoed.",
        kind=DriftKind.INVERTED_DECISION,
        breaks=("validity",),
        clause="if sentecho = FALSE. CGR, Algorithm 3.17, upon event [SEND, m]",
        edits=(Site("handle_send", "invert-decision", "one_echo_per_broadcast"),),
    ),
)

SENDER = (
    Mutation(
        id="echo_broadcast.echo_of_what_i_sent",
        title="The sender collects echoes of whatever content; its certificate does not fit what it sent.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("validity",),
        clause="#(echos = m) for the m that was sent. CGR, Algorithm 3.17, upon exists m ≠ ⊥",
        edits=(Site("handle_echo", "drop-check", "echo_of_what_i_sent"),),
    ),
    Mutation(
        id="echo_broadcast.echo_verifies",
        title="The sender puts echoes into its certificate whose signatures do not verify.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("validity",),
        clause="if verifysig(p, bcb‖p‖ECHO‖m, sig). CGR, Algorithm 3.17, upon event [ECHO, m, sig]",
        edits=(Site("handle_echo", "drop-check", "echo_verifies"),),
    ),
    Mutation(
        id="echo_broadcast.echo_from_its_signer",
        title="The sender takes an echo from whoever brings it, one for each who brings one.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("validity",),
        clause="echos[p] := m, sigmas[p] := sig, from p. CGR, Algorithm 3.17, upon event [ECHO, m, sig]",
        edits=(Site("handle_echo", "drop-check", "echo_from_its_signer"),),
    ),
    Mutation(
        id="echo_broadcast.echo_of_my_broadcast",
        title="The sender takes echoes of other senders' broadcasts for echoes of its own.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("validity",),
        clause="The signature is over bcb, the name of the instance. CGR, Algorithm 3.17",
        edits=(Site("handle_echo", "drop-check", "echo_of_my_broadcast"),),
    ),
    Mutation(
        id="echo_broadcast.echoed_by_quorum",
        title="The sender sends its certificate with the first echo.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("validity",),
        clause="#(echos = m) > (N + f) / 2. CGR, Algorithm 3.17",
        edits=(Site("handle_echo", "drop-check", "echoed_by_quorum"),),
    ),
    Mutation(
        id="echo_broadcast.request/drop-sync/1",
        title="A sender that restarts uses a number again, for another content.",
        kind=DriftKind.LOST_DURABILITY,
        breaks=("one_content_each", "validity", "consistency"),
        clause="A correct sender broadcasts one message per instance. CGR §3.10, Module 3.11",
        edits=(Site("request", "drop-sync", "1"),),
    ),
    Mutation(
        id="echo_broadcast.sent_once",
        title="A sender that restarts does not finish the broadcasts that it had begun.",
        kind=DriftKind.FORGOTTEN_RESET,
        breaks=("validity",),
        clause="If a correct process broadcasts m, then every correct process eventually delivers m. CGR, BCB1",
        edits=(Replace("start", "self.send_it(number)", "pass"),),
    ),
)

RECEIVERS = (
    Mutation(
        id="echo_broadcast.delivered_once",
        title="A certificate that arrives twice is delivered twice.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("no_duplication",),
        clause="delivered = FALSE. CGR, Algorithm 3.17, upon event [FINAL, m, Σ]; BCB2",
        edits=(Site("handle_final", "drop-check", "delivered_once"),),
        sources=("JGRP-1458 (belaban/JGroups PR #41)",),
        aliases=("A1",),
    ),
    Mutation(
        id="echo_broadcast.certified",
        title="A node delivers what the sender says is final, certificate or not.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("delivered_by_quorum", "consistency"),
        clause="#({p | Σ[p] ≠ ⊥ ∧ verifysig}) > (N + f) / 2. CGR, Algorithm 3.17, upon event [FINAL, m, Σ]",
        edits=(Site("handle_final", "drop-check", "certified"),),
    ),
    Mutation(
        id="echo_broadcast.certificate_verifies",
        title="A node counts the signatures of a certificate without verifying them.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("delivered_by_quorum", "consistency"),
        clause="verifysig(p, bcb‖p‖ECHO‖m, Σ[p]). CGR, Algorithm 3.17, upon event [FINAL, m, Σ]",
        edits=(Site("is_certificate", "drop-check", "certificate_verifies"),),
    ),
    Mutation(
        id="echo_broadcast.certificate_of_content",
        title="A certificate of one content passes for another.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("delivered_by_quorum", "consistency"),
        clause="The signature is over m. CGR, Algorithm 3.17, upon event [FINAL, m, Σ]",
        edits=(Site("is_certificate", "drop-check", "certificate_of_content"),),
    ),
    Mutation(
        id="echo_broadcast.certificate_of_number",
        title="A certificate of one broadcast passes for another of the same sender.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("delivered_by_quorum", "consistency"),
        clause="The signature is over bcb, the name of the instance. CGR, Algorithm 3.17",
        edits=(Site("is_certificate", "drop-check", "certificate_of_number"),),
    ),
    Mutation(
        id="echo_broadcast.certificate_of_sender",
        title="A certificate of one sender's broadcast passes for another sender's.",
        kind=DriftKind.MISSING_CHECK,
        breaks=("delivered_by_quorum", "consistency"),
        clause="The signature is over bcb, the name of the instance. CGR, Algorithm 3.17",
        edits=(Site("is_certificate", "drop-check", "certificate_of_sender"),),
    ),
    Mutation(
        id="echo_broadcast.signatures_are_a_count",
        title="A certificate may hold the same signer's echo several times: echoes are counted, not signers.",
        kind=DriftKind.STALE_DATA_ACCEPTED,
        breaks=("delivered_by_quorum", "consistency"),
        clause="#({p ∈ Π | ...}): processes are counted. CGR, Algorithm 3.17, upon event [FINAL, m, Σ]",
        edits=(
            Replace("is_certificate", f"{{{SIGNERS}}}", f"[{SIGNERS}]"),
        ),
        sources=("hyperledger-archives/fabric#370", "besu-eth/besu#1736"),
        aliases=("B1",),
    ),
    Mutation(
        id="echo_broadcast.majority_of_all",
        title="A majority of all nodes is enough for a certificate.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("delivered_by_quorum", "consistency"),
        clause="Byzantine quorums are larger than (N + f) / 2. CGR §2.7.3",
        edits=(
            Replace(
                "half", "(self.cluster_size + tolerated(self.cluster_size)) // 2", "(self.cluster_size - 1) // 2"
            ),
        ),
    ),
    Mutation(
        id="echo_broadcast.is_certificate/loosen-comparison/1",
        title="One signature fewer than a quorum is enough.",
        kind=DriftKind.WEAKENED_QUORUM,
        breaks=("delivered_by_quorum", "consistency"),
        clause="> (N + f) / 2. CGR, Algorithm 3.17, upon event [FINAL, m, Σ]",
        edits=(Site("is_certificate", "loosen-comparison", "1"),),
    ),
)

OPTIMISATIONS = (
    Mutation(
        id="echo_broadcast.certificates_seen",
        title="A certificate that a node has verified once is taken as verified for whatever it is attached to.",
        kind=DriftKind.OPTIMISATION,
        breaks=("delivered_by_quorum", "consistency"),
        clause="The signatures are over the instance and the content. CGR, Algorithm 3.17",
        edits=(
            Replace("start", "super().start()", "self.verified: set[tuple[Echo, ...]] = set()\nsuper().start()"),
            Replace(
                "is_certificate",
                "return len(signers) > self.half()",
                "if len(signers) > self.half():\n    self.verified.add(m.echoes)\nreturn m.echoes in self.verified",
            ),
        ),
        message="""Verify each certificate once

Links repeat messages until they are acknowledged, and signatures are what this costs most. Remember the certificates
that have been verified: the tuple of echoes is the key, and equal tuples hold equal signatures.
""",
    ),
    Mutation(
        id="echo_broadcast.certificates_passed_on",
        title="A node passes certificates on, and whoever gets one takes it for its bearer's.",
        kind=DriftKind.OPTIMISATION,
        breaks=("integrity", "delivered_by_quorum", "consistency"),
        clause="upon event [FINAL, m, Σ] from p = s: bcb, the name of the instance, is signed. CGR, Algorithm 3.17",
        edits=(
            Site("is_certificate", "drop-check", "certificate_of_sender"),
            Replace(
                "handle_final",
                "self.deliver(src, m.number, m.content)",
                "self.deliver(src, m.number, m.content)\n"
                "for peer in self.peers:  # the sender may have died halfway\n"
                "    self.post(peer, m)",
            ),
        ),
        message="""Pass certificates on

A sender that dies halfway leaves some nodes without its broadcast, although others hold the certificate, and that
proves itself whoever brings it. Pass it on with the delivery, and no longer refuse one since somebody else than its
sender has brought it.
""",
    ),
    Mutation(
        id="echo_broadcast.echo_cache",
        title="A node keeps its latest echoes in a small cache, and echoes anew what has fallen out of it.",
        kind=DriftKind.OPTIMISATION,
        breaks=("one_echo_each", "consistency"),
        clause="if sentecho = FALSE, for ever. CGR, Algorithm 3.17, upon event [SEND, m]",
        edits=(
            Replace(
                "handle_send",
                "self.echoed[instance] = digest",
                "self.echoed[instance] = digest\n"
                "for old in list(self.echoed)[:-4]:  # finished long ago\n"
                "    del self.echoed[old]",
            ),
        ),
        message="""Bound the memory of echoes

What a node has echoed was kept for ever, one entry a broadcast. A sender has few broadcasts in the air at a time, so
the latest ones are enough; the rest is on the disk.
""",
    ),
)

CATALOGUE = (*ECHOES, *SENDER, *RECEIVERS, *OPTIMISATIONS)

BEYOND = (
    Beyond("A3", "A replayed old update is applied again in causal order.", "an order among broadcasts"),
    Beyond("A5", "Views are installed out of order.", "views of a changing membership"),
)
