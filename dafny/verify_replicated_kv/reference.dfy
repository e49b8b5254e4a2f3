// Prove that the replicated store is one sequential map. The specification, ReplicatedKvSpec, is given; the lemmas
// below are required as they are stated. Lemmas, functions and predicates of your own may be added.

module ReplicatedKvProof {
  import opened ReplicatedKvSpec

  // ---- Quorums and logs --------------------------------------------------------------------------------------------

  // Any two quorums have a replica in common.
  lemma QuorumsIntersect(n: nat, a: set<nat>, b: set<nat>)
    requires IsQuorum(n, a) && IsQuorum(n, b)
    ensures exists r :: r in a && r in b
  {
    if a !! b {
      SizeOfUpTo(n);
      SubsetIsNoLarger(a + b, UpTo(n));
      assert |a + b| == |a| + |b|;
    }
  }

  // Logs from the same view are one log, of which one replica may have more than another.
  lemma ViewHasOneLog(n: nat, steps: seq<Step>, a: nat, b: nat, i: nat)
    requires a < n && b < n
    ensures var s := Run(n, steps);
      |s.replicas| == n
      && (s.replicas[a].normal == s.replicas[b].normal && i < |s.replicas[a].log| && i < |s.replicas[b].log|
          ==> s.replicas[a].log[i] == s.replicas[b].log[i])
  {
    var s := Run(n, steps);
    RunKeeps(n, steps);
    ReplicaHolds(s.replicas, s.said, a);
    ReplicaHolds(s.replicas, s.said, b);
  }

  // What a replica knows to be committed is in the log of every replica whose log is from a newer view.
  lemma NewerLogsHaveWhatIsCommitted(n: nat, steps: seq<Step>, a: nat, b: nat)
    requires a < n && b < n
    ensures var s := Run(n, steps);
      |s.replicas| == n
      && (s.replicas[a].normal < s.replicas[b].normal ==> Committed(s.replicas[a]) <= s.replicas[b].log)
  {
    var s := Run(n, steps);
    RunKeeps(n, steps);
    var x, y := s.replicas[a], s.replicas[b];
    StableHolds(s.replicas, s.said);
    CommittedIsSettled(s.replicas, s.said, a);
    ReplicaHolds(s.replicas, s.said, b);
    if x.normal < y.normal {
      SettledIsKept(s.replicas, s.said, x.normal, y.normal, Committed(x));
    }
  }

  // ---- One map -----------------------------------------------------------------------------------------------------

  // Of what two replicas have committed, one is a prefix of the other.
  lemma CommittedPrefixesAgree(n: nat, steps: seq<Step>, a: nat, b: nat)
    requires a < n && b < n
    ensures var s := Run(n, steps);
      |s.replicas| == n
      && (Committed(s.replicas[a]) <= Committed(s.replicas[b]) || Committed(s.replicas[b]) <= Committed(s.replicas[a]))
  {
    var s := Run(n, steps);
    RunKeeps(n, steps);
    var x, y := s.replicas[a], s.replicas[b];
    StableHolds(s.replicas, s.said);
    CommittedIsSettled(s.replicas, s.said, a);
    CommittedIsSettled(s.replicas, s.said, b);
    SettledAgree(s.replicas, s.said, x.normal, Committed(x), y.normal, Committed(y));
  }

  // What is committed stays committed, in its order, whatever happens: later steps only add to it.
  lemma CommittedOnlyGrows(n: nat, steps: seq<Step>, i: nat, j: nat)
    requires 0 < n
    requires i <= j <= |steps|
    ensures Order(Run(n, steps[..i])) <= Order(Run(n, steps[..j]))
  {
    if i < j {
      assert steps[..j][..j - 1] == steps[..j - 1];
      CommittedOnlyGrows(n, steps, i, j - 1);
      RunKeeps(n, steps[..j - 1]);
      StepGrowsOrder(Run(n, steps[..j - 1]), steps[j - 1]);
    }
  }

  // Every step of the cluster is a number of writes to the abstract map, each asked for before and new to it.
  lemma {:induction false} RefinesSequentialMap(n: nat, steps: seq<Step>, step: Step)
    requires 0 < n
    ensures var before := Run(n, steps);
      var after := Run(n, steps + [step]);
      Order(before) <= Order(after)
      && MapOf(Order(after)) == Replay(MapOf(Order(before)), Order(after)[|Order(before)|..])
      && forall i | |Order(before)| <= i < |Order(after)| ::
           Asked(before.history, Order(after)[i]) && !HasId(Order(before), Order(after)[i].id)
  {
    assert (steps + [step])[..|steps|] == steps;
    RunKeeps(n, steps);
    RunKeepsHistory(n, steps);
    StepRefines(Run(n, steps), step);
  }

  // The state that any replica's commit point stands for is one that the abstract map has, or has had.
  lemma EveryCommitPointIsAbstract(n: nat, steps: seq<Step>, r: nat)
    requires r < n
    ensures var s := Run(n, steps);
      |s.replicas| == n
      && s.replicas[r].commit <= |Order(s)|
      && MapOf(Committed(s.replicas[r])) == MapOf(Order(s)[..s.replicas[r].commit])
  {
    var s := Run(n, steps);
    RunKeeps(n, steps);
    ReplicaHolds(s.replicas, s.said, r);
    CommittedIsInOrder(s.replicas, s.said, r);
    assert Order(s)[..s.replicas[r].commit] == Committed(s.replicas[r]);
  }

  // ---- What clients see --------------------------------------------------------------------------------------------

  // A read that a quorum has confirmed is answered from what was committed when it began, or from more.
  lemma ConfirmedReadsAreCurrent(n: nat, steps: seq<Step>, i: nat, id: nat)
    requires 0 < n
    requires i <= |steps|
    requires id !in Run(n, steps[..i]).pending
    requires id in Run(n, steps).pending && IsQuorum(n, Run(n, steps).pending[id].confirmed)
    ensures |Order(Run(n, steps[..i]))| <= Run(n, steps).pending[id].index
  {
    var s := Run(n, steps);
    RunKeeps(n, steps);
    assert AllConfirm(s.replicas, s.pending[id].confirmed, s.pending[id]);
    CurrentSince(n, steps, i, id);
  }

  // Every answer, to a write or to a read at any replica, is the abstract map's.
  lemma AnswersAreAbstract(n: nat, steps: seq<Step>)
    requires 0 < n
    ensures AnswersAgree(Run(n, steps).history, Order(Run(n, steps)))
  {
    RunKeepsHistory(n, steps);
  }

  // What is asked after an answer takes effect after what was answered.
  lemma OrderRespectsRealTime(n: nat, steps: seq<Step>)
    requires 0 < n
    ensures RealTimeIsKept(Run(n, steps).history, Order(Run(n, steps)))
  {
    RunKeepsHistory(n, steps);
  }

  // Only writes that were asked for are committed, and each at most once.
  lemma OnlyAskedWritesCommit(n: nat, steps: seq<Step>)
    requires 0 < n
    ensures NothingInvented(Run(n, steps).history, Order(Run(n, steps)))
  {
    RunKeepsHistory(n, steps);
  }

  // What clients see of the cluster, through every run, is linearizable.
  lemma HistoryIsLinearizable(n: nat, steps: seq<Step>)
    requires 0 < n
    ensures Linearizable(Run(n, steps).history, Order(Run(n, steps)))
  {
    RunKeepsHistory(n, steps);
  }

  // ---- Something happens -------------------------------------------------------------------------------------------

  // The store is not safe by doing nothing: with one of three replicas away, a write is committed, and then read in the
  // next view.
  lemma WritesCanBeRead(write: Write, id: nat)
    requires write.value.Some?
    ensures exists steps ::
      var s := Run(3, steps);
      1 in s.said && ReadDone(id, write.key, write.value, 1) in s.history
  {
    var steps := ViewIsChanged(write);
    var more := [DoBeginRead(1, id, write.key), DoConfirmRead(1, id), DoConfirmRead(2, id), DoFinishRead(1, id)];
    var read := Read(write.key, 1, 1, {1, 2});
    RunGoesOn(3, steps, more[0]);
    RunGoesOn(3, steps + more[..1], more[1]);
    RunGoesOn(3, steps + more[..2], more[2]);
    RunGoesOn(3, steps + more[..3], more[3]);
    assert steps + more[..1] == steps + [more[0]];
    assert steps + more[..2] == steps + more[..1] + [more[1]];
    assert steps + more[..3] == steps + more[..2] + [more[2]];
    assert steps + more == steps + more[..3] + [more[3]];
    var s := Run(3, steps + more[..3]);
    assert {} + {1} + {2} == {1, 2};
    assert |{1, 2}| == 2;
    assert s.pending[id] == read;
    assert Committed(s.replicas[1]) == [write];
    assert [write][..0] == [];
    assert Replay(map[], [write][..0]) == map[];
    assert MapOf([write]) == Execute(map[], write);
    var t := Run(3, steps + more);
    assert t.history[|s.history|] == ReadDone(id, write.key, write.value, 1);
  }

  // ---- Sets and sequences ------------------------------------------------------------------------------------------

  lemma SubsetIsNoLarger(a: set<nat>, b: set<nat>)
    requires a <= b
    ensures |a| <= |b|
  {
    assert a + (b - a) == b;
  }

  function UpTo(n: nat): set<nat>
  {
    if n == 0 then {} else UpTo(n - 1) + {n - 1}
  }

  lemma SizeOfUpTo(n: nat)
    ensures |UpTo(n)| == n
    ensures forall r: nat :: r in UpTo(n) <==> r < n
  {
  }

  lemma ReplayComposes(m: map<int, int>, a: seq<Write>, b: seq<Write>)
    ensures Replay(Replay(m, a), b) == Replay(m, a + b)
    decreases |b|
  {
    if |b| == 0 {
      assert a + b == a;
    } else {
      ReplayComposes(m, a, b[..|b| - 1]);
      assert (a + b)[..|a + b| - 1] == a + b[..|b| - 1];
      assert (a + b)[|a + b| - 1] == b[|b| - 1];
    }
  }

  // ---- What is chosen, and what could still be ---------------------------------------------------------------------

  predicate AllHave(rs: seq<Replica>, q: set<nat>, u: nat, i: nat)
  {
    IsQuorum(|rs|, q) && forall r | r in q :: i <= Acked(rs[r], u)
  }

  predicate AllCould(rs: seq<Replica>, q: set<nat>, u: nat, i: nat)
  {
    IsQuorum(|rs|, q) && forall r | r in q :: i <= Acked(rs[r], u) || rs[r].view <= u
  }

  predicate AllKnow(rs: seq<Replica>, q: set<nat>, v: nat)
  {
    IsQuorum(|rs|, q) && forall r | r in q :: v <= rs[r].view
  }

  predicate AllOld(rs: seq<Replica>, q: set<nat>, v: nat)
  {
    IsQuorum(|rs|, q) && forall r | r in q :: rs[r].view <= v
  }

  // A quorum has acknowledged the first i writes of the view's log.
  predicate Chosen(rs: seq<Replica>, u: nat, i: nat)
  {
    exists q :: AllHave(rs, q, u, i)
  }

  // A quorum has, or could still: a replica that follows a newer view acknowledges nothing in this one.
  predicate Choosable(rs: seq<Replica>, u: nat, i: nat)
  {
    exists q :: AllCould(rs, q, u, i)
  }

  predicate MostKnow(rs: seq<Replica>, v: nat)
  {
    exists q :: AllKnow(rs, q, v)
  }

  predicate NoneNewer(rs: seq<Replica>, v: nat)
  {
    exists q :: AllOld(rs, q, v)
  }

  lemma ChosenIsChoosable(rs: seq<Replica>, u: nat, i: nat)
    requires Chosen(rs, u, i)
    ensures Choosable(rs, u, i)
  {
    var q :| AllHave(rs, q, u, i);
    assert AllCould(rs, q, u, i);
  }

  // ---- The invariant -----------------------------------------------------------------------------------------------

  function {:opaque} Primary(n: nat, view: nat): nat
    requires 0 < n
  {
    view % n
  }

  lemma PrimaryIsAReplica(n: nat, view: nat)
    requires 0 < n
    ensures Primary(n, view) < n
  {
    reveal Primary();
  }

  // This much of a log was begun with, or said later, in view v.
  predicate LogFrom(said: map<nat, Said>, v: nat, log: seq<Write>)
  {
    v in said && said[v].start <= |log| && log <= said[v].log
  }

  predicate ReplicaOk(said: map<nat, Said>, n: nat, r: nat, x: Replica)
    requires 0 < n
  {
    x.normal <= x.view
    && LogFrom(said, x.normal, x.log)
    && x.commit <= |x.log|
    && (forall u | u in x.acked :: u <= x.normal && u in said && x.acked[u] <= |said[u].log|)
    && x.normal in x.acked && x.acked[x.normal] == |x.log|
    && (Primary(n, x.normal) == r ==> x.log == said[x.normal].log && x.commit == said[x.normal].commit)
  }

  predicate VoteOk(said: map<nat, Said>, x: Replica, v: nat)
    requires v in x.votes
  {
    v <= x.view
    && x.votes[v].normal < v
    && LogFrom(said, x.votes[v].normal, x.votes[v].log)
    && x.votes[v].normal in x.acked
    && x.acked[x.votes[v].normal] == |x.votes[v].log|
    && (forall u | u in x.acked :: u <= x.votes[v].normal || v <= u)
  }

  // The primary of a view up to v has committed these writes.
  predicate Settled(rs: seq<Replica>, said: map<nat, Said>, v: nat, w: seq<Write>)
  {
    exists u :: u in said && u <= v && Chosen(rs, u, |w|) && w <= said[u].log && |w| <= said[u].commit
  }

  predicate SaidOk(rs: seq<Replica>, said: map<nat, Said>, v: nat)
    requires 0 < |rs| && v in said
  {
    said[v].start <= |said[v].log|
    && said[v].commit <= |said[v].log|
    && Primary(|rs|, v) < |rs| && v <= rs[Primary(|rs|, v)].normal
    && MostKnow(rs, v)
    && Settled(rs, said, v, said[v].log[..said[v].commit])
  }

  predicate Kept(said: map<nat, Said>, u: nat, v: nat, i: nat)
    requires u in said && v in said
  {
    i <= |said[u].log| && i <= said[v].start && i <= |said[v].log| && said[u].log[..i] == said[v].log[..i]
  }

  // What could be chosen in a view is in the logs that later views begin with.
  predicate Stable(rs: seq<Replica>, said: map<nat, Said>)
  {
    forall u, v, i: nat | u in said && v in said && u < v && i <= |said[u].log| && Choosable(rs, u, i) ::
      Kept(said, u, v, i)
  }

  predicate {:opaque} Inv(rs: seq<Replica>, said: map<nat, Said>)
  {
    0 < |rs|
    && (forall r | 0 <= r < |rs| :: ReplicaOk(said, |rs|, r, rs[r]))
    && (forall r, v | 0 <= r < |rs| && v in rs[r].votes :: VoteOk(said, rs[r], v))
    && (forall v | v in said :: SaidOk(rs, said, v))
    && Stable(rs, said)
    && (forall r | 0 <= r < |rs| :: Settled(rs, said, rs[r].normal, Committed(rs[r])))
  }

  // The invariant is opened here alone: each lemma asks for the part that it needs.
  lemma ReplicaHolds(rs: seq<Replica>, said: map<nat, Said>, r: nat)
    requires Inv(rs, said) && r < |rs|
    ensures ReplicaOk(said, |rs|, r, rs[r])
  {
    reveal Inv();
  }

  lemma VoteHolds(rs: seq<Replica>, said: map<nat, Said>, r: nat, v: nat)
    requires Inv(rs, said) && r < |rs| && v in rs[r].votes
    ensures VoteOk(said, rs[r], v)
  {
    reveal Inv();
  }

  lemma SaidHolds(rs: seq<Replica>, said: map<nat, Said>, v: nat)
    requires Inv(rs, said) && v in said
    ensures 0 < |rs| && SaidOk(rs, said, v)
  {
    reveal Inv();
  }

  lemma StableHolds(rs: seq<Replica>, said: map<nat, Said>)
    requires Inv(rs, said)
    ensures 0 < |rs| && Stable(rs, said)
  {
    reveal Inv();
  }

  lemma CommittedIsSettled(rs: seq<Replica>, said: map<nat, Said>, r: nat)
    requires Inv(rs, said) && r < |rs|
    ensures Settled(rs, said, rs[r].normal, Committed(rs[r]))
  {
    reveal Inv();
  }

  lemma InvFromParts(rs: seq<Replica>, said: map<nat, Said>)
    requires 0 < |rs|
    requires forall r | 0 <= r < |rs| :: ReplicaOk(said, |rs|, r, rs[r])
    requires forall r, v | 0 <= r < |rs| && v in rs[r].votes :: VoteOk(said, rs[r], v)
    requires forall v | v in said :: SaidOk(rs, said, v)
    requires Stable(rs, said)
    requires forall r | 0 <= r < |rs| :: Settled(rs, said, rs[r].normal, Committed(rs[r]))
    ensures Inv(rs, said)
  {
    reveal Inv();
  }

  // ---- What every step does ----------------------------------------------------------------------------------------

  predicate ReplicaGrows(x: Replica, y: Replica)
  {
    x.view <= y.view
    && x.commit <= y.commit
    && (forall u | u in x.acked :: u in y.acked && x.acked[u] <= y.acked[u])
    && (forall u | u in y.acked :: Acked(x, u) == y.acked[u] || x.view <= u)
  }

  predicate SaidGrows(a: Said, b: Said)
  {
    a.start == b.start && a.log <= b.log && a.commit <= b.commit
  }

  predicate Grows(rs: seq<Replica>, said: map<nat, Said>, rt: seq<Replica>, sayd: map<nat, Said>)
  {
    |rs| == |rt|
    && (forall r | 0 <= r < |rs| :: ReplicaGrows(rs[r], rt[r]))
    && (forall v | v in said :: v in sayd && SaidGrows(said[v], sayd[v]))
  }

  lemma ChosenGrows(rs: seq<Replica>, rt: seq<Replica>, u: nat, i: nat)
    requires |rs| == |rt| && forall r | 0 <= r < |rs| :: ReplicaGrows(rs[r], rt[r])
    requires Chosen(rs, u, i)
    ensures Chosen(rt, u, i)
  {
    var q :| AllHave(rs, q, u, i);
    forall r | r in q
      ensures i <= Acked(rt[r], u)
    {
      assert ReplicaGrows(rs[r], rt[r]);
    }
    assert AllHave(rt, q, u, i);
  }

  lemma ChoosableShrinks(rs: seq<Replica>, rt: seq<Replica>, u: nat, i: nat)
    requires |rs| == |rt| && forall r | 0 <= r < |rs| :: ReplicaGrows(rs[r], rt[r])
    requires Choosable(rt, u, i)
    ensures Choosable(rs, u, i)
  {
    var q :| AllCould(rt, q, u, i);
    forall r | r in q
      ensures i <= Acked(rs[r], u) || rs[r].view <= u
    {
      assert ReplicaGrows(rs[r], rt[r]);
    }
    assert AllCould(rs, q, u, i);
  }

  lemma MostKnowStays(rs: seq<Replica>, rt: seq<Replica>, v: nat)
    requires |rs| == |rt| && forall r | 0 <= r < |rs| :: ReplicaGrows(rs[r], rt[r])
    requires MostKnow(rs, v)
    ensures MostKnow(rt, v)
  {
    var q :| AllKnow(rs, q, v);
    forall r | r in q
      ensures v <= rt[r].view
    {
      assert ReplicaGrows(rs[r], rt[r]);
    }
    assert AllKnow(rt, q, v);
  }

  lemma SettledStays(rs: seq<Replica>, said: map<nat, Said>, rt: seq<Replica>, sayd: map<nat, Said>,
                     v: nat, v': nat, w: seq<Write>)
    requires Grows(rs, said, rt, sayd)
    requires Settled(rs, said, v, w) && v <= v'
    ensures Settled(rt, sayd, v', w)
  {
    var u :| u in said && u <= v && Chosen(rs, u, |w|) && w <= said[u].log && |w| <= said[u].commit;
    ChosenGrows(rs, rt, u, |w|);
    assert SaidGrows(said[u], sayd[u]);
  }

  lemma FewerAreChosen(rs: seq<Replica>, u: nat, i: nat, j: nat)
    requires Chosen(rs, u, j) && i <= j
    ensures Chosen(rs, u, i)
  {
    var q :| AllHave(rs, q, u, j);
    assert AllHave(rs, q, u, i);
  }

  lemma PrefixIsSettled(rs: seq<Replica>, said: map<nat, Said>, v: nat, w: seq<Write>, i: nat)
    requires Settled(rs, said, v, w) && i <= |w|
    ensures Settled(rs, said, v, w[..i])
  {
    var u :| u in said && u <= v && Chosen(rs, u, |w|) && w <= said[u].log && |w| <= said[u].commit;
    FewerAreChosen(rs, u, i, |w|);
    assert |w[..i]| == i;
  }

  // What is settled is in the log of every newer view.
  lemma SettledIsKept(rs: seq<Replica>, said: map<nat, Said>, v: nat, newer: nat, w: seq<Write>)
    requires Stable(rs, said)
    requires Settled(rs, said, v, w) && v < newer && newer in said
    ensures |w| <= said[newer].start && w <= said[newer].log
  {
    var u :| u in said && u <= v && Chosen(rs, u, |w|) && w <= said[u].log && |w| <= said[u].commit;
    ChosenIsChoosable(rs, u, |w|);
    assert Kept(said, u, newer, |w|);
    assert w == said[u].log[..|w|];
  }

  lemma SettledAgree(rs: seq<Replica>, said: map<nat, Said>, v: nat, w: seq<Write>, v': nat, w': seq<Write>)
    requires Stable(rs, said)
    requires Settled(rs, said, v, w) && Settled(rs, said, v', w')
    ensures |w| <= |w'| ==> w <= w'
    ensures |w'| <= |w| ==> w' <= w
  {
    var a :| a in said && a <= v && Chosen(rs, a, |w|) && w <= said[a].log && |w| <= said[a].commit;
    var b :| b in said && b <= v' && Chosen(rs, b, |w'|) && w' <= said[b].log && |w'| <= said[b].commit;
    if a < b {
      assert Settled(rs, said, a, w);
      SettledIsKept(rs, said, a, b, w);
    } else if b < a {
      assert Settled(rs, said, b, w');
      SettledIsKept(rs, said, b, a, w');
    }
  }

  // Of a view that was followed by another nothing can be chosen that a quorum has not acknowledged.
  lemma NobodyIsThatFar(rs: seq<Replica>, said: map<nat, Said>, u: nat, v: nat, i: nat)
    requires Inv(rs, said)
    requires v in said && u < v && Choosable(rs, u, i)
    requires u in said ==> |said[u].log| < i
    ensures u !in said && i == 0
  {
    SaidHolds(rs, said, v);
    var q :| AllCould(rs, q, u, i);
    var p :| AllKnow(rs, p, v);
    QuorumsIntersect(|rs|, q, p);
    var r :| r in q && r in p;
    assert i <= Acked(rs[r], u);
    ReplicaHolds(rs, said, r);
  }

  // Between views that were begun before, a step changes nothing of what is kept.
  lemma StableForOldViews(rs: seq<Replica>, said: map<nat, Said>, rt: seq<Replica>, sayd: map<nat, Said>,
                          u: nat, v: nat, i: nat)
    requires Inv(rs, said) && Grows(rs, said, rt, sayd)
    requires u in said && v in said && u < v && i <= |sayd[u].log| && Choosable(rt, u, i)
    ensures Kept(sayd, u, v, i)
  {
    ChoosableShrinks(rs, rt, u, i);
    if |said[u].log| < i {
      NobodyIsThatFar(rs, said, u, v, i);
    }
    OldPairIsKept(rs, said, u, v, i);
    KeptStays(said[u], said[v], sayd[u], sayd[v], i);
  }

  lemma OldPairIsKept(rs: seq<Replica>, said: map<nat, Said>, u: nat, v: nat, i: nat)
    requires Inv(rs, said)
    requires u in said && v in said && u < v && i <= |said[u].log| && Choosable(rs, u, i)
    ensures Kept(said, u, v, i)
  {
    StableHolds(rs, said);
  }

  lemma KeptStays(a: Said, b: Said, a': Said, b': Said, i: nat)
    requires SaidGrows(a, a') && SaidGrows(b, b')
    requires i <= |a.log| && i <= b.start && i <= |b.log| && a.log[..i] == b.log[..i]
    ensures i <= |a'.log| && i <= b'.start && i <= |b'.log| && a'.log[..i] == b'.log[..i]
  {
    assert a'.log[..i] == a.log[..i];
    assert b'.log[..i] == b.log[..i];
  }

  // A step that begins no view keeps what is stable.
  lemma StableStays(rs: seq<Replica>, said: map<nat, Said>, rt: seq<Replica>, sayd: map<nat, Said>)
    requires Inv(rs, said) && Grows(rs, said, rt, sayd)
    requires forall v | v in sayd :: v in said
    ensures Stable(rt, sayd)
  {
    forall u, v, i: nat | u in sayd && v in sayd && u < v && i <= |sayd[u].log| && Choosable(rt, u, i)
      ensures Kept(sayd, u, v, i)
    {
      StableForOldViews(rs, said, rt, sayd, u, v, i);
    }
  }

  lemma SaidStays(rs: seq<Replica>, said: map<nat, Said>, rt: seq<Replica>, sayd: map<nat, Said>, v: nat)
    requires 0 < |rs| && Inv(rs, said) && Grows(rs, said, rt, sayd)
    requires forall r | 0 <= r < |rs| :: rs[r].normal <= rt[r].normal
    requires v in said && sayd[v].commit == said[v].commit
    ensures SaidOk(rt, sayd, v)
  {
    SaidHolds(rs, said, v);
    assert SaidGrows(said[v], sayd[v]);
    MostKnowStays(rs, rt, v);
    SettledStays(rs, said, rt, sayd, v, v, said[v].log[..said[v].commit]);
    assert said[v].log[..said[v].commit] == sayd[v].log[..said[v].commit];
  }

  lemma CommittedStaysSettled(rs: seq<Replica>, said: map<nat, Said>, rt: seq<Replica>, sayd: map<nat, Said>, r: nat)
    requires Inv(rs, said) && Grows(rs, said, rt, sayd)
    requires r < |rs| && rs[r].normal <= rt[r].normal && Committed(rt[r]) == Committed(rs[r])
    ensures Settled(rt, sayd, rt[r].normal, Committed(rt[r]))
  {
    CommittedIsSettled(rs, said, r);
    SettledStays(rs, said, rt, sayd, rs[r].normal, rt[r].normal, Committed(rs[r]));
  }

  lemma OthersStay(rs: seq<Replica>, said: map<nat, Said>, rt: seq<Replica>, sayd: map<nat, Said>, x: nat)
    requires Inv(rs, said) && Grows(rs, said, rt, sayd)
    requires x < |rs| && rt[x] == rs[x]
    requires rs[x].normal in said && Primary(|rs|, rs[x].normal) == x ==> sayd[rs[x].normal] == said[rs[x].normal]
    ensures ReplicaOk(sayd, |rt|, x, rt[x])
    ensures Settled(rt, sayd, rt[x].normal, Committed(rt[x]))
    ensures forall v | v in rt[x].votes :: VoteOk(sayd, rt[x], v)
  {
    ReplicaHolds(rs, said, x);
    CommittedStaysSettled(rs, said, rt, sayd, x);
    assert SaidGrows(said[rs[x].normal], sayd[rs[x].normal]);
    forall v | v in rt[x].votes
      ensures VoteOk(sayd, rt[x], v)
    {
      VotesStay(rs, said, rt, sayd, x, v);
    }
  }

  lemma VotesStay(rs: seq<Replica>, said: map<nat, Said>, rt: seq<Replica>, sayd: map<nat, Said>, x: nat, v: nat)
    requires Inv(rs, said) && Grows(rs, said, rt, sayd)
    requires x < |rs| && v in rs[x].votes && v in rt[x].votes && rt[x].votes[v] == rs[x].votes[v]
    requires forall u | u in rt[x].acked :: (u in rs[x].acked && rt[x].acked[u] == rs[x].acked[u]) || rs[x].view <= u
    ensures VoteOk(sayd, rt[x], v)
  {
    VoteHolds(rs, said, x, v);
    var vote := rs[x].votes[v];
    assert ReplicaGrows(rs[x], rt[x]);
    assert SaidGrows(said[vote.normal], sayd[vote.normal]);
    assert vote.normal in rt[x].acked;
  }

  // A step of replica r changes no other, and nothing that another's views have said.
  lemma InvFromStep(rs: seq<Replica>, said: map<nat, Said>, rt: seq<Replica>, sayd: map<nat, Said>, r: nat)
    requires Inv(rs, said) && Grows(rs, said, rt, sayd) && r < |rs|
    requires forall x | 0 <= x < |rs| && x != r :: rt[x] == rs[x]
    requires forall v | v in said && Primary(|rs|, v) != r :: sayd[v] == said[v]
    requires ReplicaOk(sayd, |rt|, r, rt[r])
    requires Settled(rt, sayd, rt[r].normal, Committed(rt[r]))
    requires forall v | v in rt[r].votes :: VoteOk(sayd, rt[r], v)
    requires forall v | v in sayd :: SaidOk(rt, sayd, v)
    requires Stable(rt, sayd)
    ensures Inv(rt, sayd)
  {
    forall x | 0 <= x < |rt|
      ensures ReplicaOk(sayd, |rt|, x, rt[x]) && Settled(rt, sayd, rt[x].normal, Committed(rt[x]))
      ensures forall v | v in rt[x].votes :: VoteOk(sayd, rt[x], v)
    {
      if x != r {
        OthersStay(rs, said, rt, sayd, x);
      }
    }
    InvFromParts(rt, sayd);
  }

  // ---- Each step keeps the invariant -------------------------------------------------------------------------------

  lemma SubmitKeeps(s: Cluster, r: nat, write: Write)
    requires Inv(s.replicas, s.said)
    ensures var t := Submit(s, r, write); Inv(t.replicas, t.said) && Grows(s.replicas, s.said, t.replicas, t.said)
  {
    var t := Submit(s, r, write);
    if t != s {
      SubmitGrows(s, r, write);
      CommittedStaysSettled(s.replicas, s.said, t.replicas, t.said, r);
      QuietStep(s.replicas, s.said, t.replicas, t.said, r);
    }
  }

  lemma SubmitGrows(s: Cluster, r: nat, write: Write)
    requires Inv(s.replicas, s.said)
    requires Submit(s, r, write) != s
    ensures var t := Submit(s, r, write);
      Grows(s.replicas, s.said, t.replicas, t.said)
      && (forall v | v in t.said :: v in s.said && t.said[v].commit == s.said[v].commit)
      && (forall v | v in s.said && Primary(|s.replicas|, v) != r :: t.said[v] == s.said[v])
      && ReplicaOk(t.said, |t.replicas|, r, t.replicas[r])
      && Committed(t.replicas[r]) == Committed(s.replicas[r])
    ensures var t := Submit(s, r, write); forall v | v in t.replicas[r].votes :: VoteOk(t.said, t.replicas[r], v)
  {
    var t := Submit(s, r, write);
    var was, now := s.replicas[r], t.replicas[r];
    assert Primary(|s.replicas|, was.view) == r by {
      reveal Primary();
    }
    ReplicaHolds(s.replicas, s.said, r);
    assert was.log == s.said[was.view].log;
    assert now.log[..was.commit] == was.log[..was.commit];
    assert SaidGrows(s.said[was.view], t.said[was.view]);
    assert ReplicaGrows(was, now);
    forall v | v in now.votes
      ensures VoteOk(t.said, now, v)
    {
      VotesStay(s.replicas, s.said, t.replicas, t.said, r, v);
    }
  }

  lemma AcceptKeeps(s: Cluster, r: nat, view: nat, length: nat, commit: nat)
    requires Inv(s.replicas, s.said)
    ensures var t := Accept(s, r, view, length, commit);
      Inv(t.replicas, t.said) && Grows(s.replicas, s.said, t.replicas, t.said)
  {
    var t := Accept(s, r, view, length, commit);
    if t != s {
      ReplicaHolds(s.replicas, s.said, r);
      AcceptGrows(s, r, view, length, commit);
      AcceptedCommit(s, r, view, length, commit);
      SettledStays(s.replicas, s.said, t.replicas, s.said, view, view, Committed(t.replicas[r]));
      AcceptedVotes(s, r, view, length, commit);
      QuietStep(s.replicas, s.said, t.replicas, s.said, r);
    }
  }

  lemma AcceptGrows(s: Cluster, r: nat, view: nat, length: nat, commit: nat)
    requires Inv(s.replicas, s.said)
    requires Accept(s, r, view, length, commit) != s
    ensures var t := Accept(s, r, view, length, commit);
      Grows(s.replicas, s.said, t.replicas, s.said) && ReplicaOk(s.said, |t.replicas|, r, t.replicas[r])
  {
    var was, now := s.replicas[r], Accept(s, r, view, length, commit).replicas[r];
    ReplicaHolds(s.replicas, s.said, r);
    SaidHolds(s.replicas, s.said, view);
    AcceptedCommit(s, r, view, length, commit);
    assert ReplicaGrows(was, now);
    if Primary(|s.replicas|, view) == r {
      assert was.normal == view;
      assert now.log == s.said[view].log;
    }
  }

  lemma AcceptedVotes(s: Cluster, r: nat, view: nat, length: nat, commit: nat)
    requires Inv(s.replicas, s.said)
    requires Accept(s, r, view, length, commit) != s
    ensures var x := Accept(s, r, view, length, commit).replicas[r]; forall v | v in x.votes :: VoteOk(s.said, x, v)
  {
    var t := Accept(s, r, view, length, commit);
    AcceptGrows(s, r, view, length, commit);
    forall v | v in t.replicas[r].votes
      ensures VoteOk(s.said, t.replicas[r], v)
    {
      VotesStay(s.replicas, s.said, t.replicas, s.said, r, v);
    }
  }

  // What a replica knows to be committed when it has accepted a log is settled, and is in that log.
  lemma AcceptedCommit(s: Cluster, r: nat, view: nat, length: nat, commit: nat)
    requires Inv(s.replicas, s.said)
    requires r < |s.replicas| && view in s.said
    requires s.said[view].start <= length <= |s.said[view].log| && commit <= s.said[view].commit
    requires s.replicas[r].view <= view
    requires s.replicas[r].normal == view ==> |s.replicas[r].log| <= length
    ensures var x := Accept(s, r, view, length, commit).replicas[r];
      x.commit <= |x.log| && Settled(s.replicas, s.said, view, Committed(x))
  {
    var rs, said: map<nat, Said> := s.replicas, s.said;
    var was := rs[r];
    var x := Accept(s, r, view, length, commit).replicas[r];
    var w := Committed(was);
    ReplicaHolds(rs, said, r);
    StableHolds(rs, said);
    CommittedIsSettled(rs, said, r);
    if x.commit == was.commit {
      if was.normal < view {
        SettledIsKept(rs, said, was.normal, view, w);
      }
      assert Committed(x) == w;
    } else {
      SaidHolds(rs, said, view);
      PrefixIsSettled(rs, said, view, said[view].log[..said[view].commit], x.commit);
      assert Committed(x) == said[view].log[..said[view].commit][..x.commit];
    }
  }

  lemma AdvanceKeeps(s: Cluster, r: nat, length: nat, quorum: set<nat>)
    requires Inv(s.replicas, s.said)
    ensures var t := Advance(s, r, length, quorum);
      Inv(t.replicas, t.said) && Grows(s.replicas, s.said, t.replicas, t.said)
  {
    var t := Advance(s, r, length, quorum);
    if t != s {
      var rs, rt := s.replicas, t.replicas;
      var said: map<nat, Said> := s.said;
      var sayd: map<nat, Said> := t.said;
      var view := rs[r].view;
      AdvanceGrows(s, r, length, quorum);
      forall v | v in rt[r].votes
        ensures VoteOk(sayd, rt[r], v)
      {
        VotesStay(rs, said, rt, sayd, r, v);
      }
      forall v | v in sayd
        ensures SaidOk(rt, sayd, v)
      {
        if v != view {
          SaidStays(rs, said, rt, sayd, v);
        } else {
          SaidHolds(rs, said, v);
          MostKnowStays(rs, rt, v);
        }
      }
      StableStays(rs, said, rt, sayd);
      InvFromStep(rs, said, rt, sayd, r);
    }
  }

  lemma AdvanceGrows(s: Cluster, r: nat, length: nat, quorum: set<nat>)
    requires Inv(s.replicas, s.said)
    requires Advance(s, r, length, quorum) != s
    ensures var t := Advance(s, r, length, quorum);
      Grows(s.replicas, s.said, t.replicas, t.said)
      && Primary(|s.replicas|, s.replicas[r].view) == r
      && ReplicaOk(t.said, |t.replicas|, r, t.replicas[r])
      && Committed(t.replicas[r]) == t.said[s.replicas[r].view].log[..length]
      && Settled(t.replicas, t.said, s.replicas[r].view, t.said[s.replicas[r].view].log[..length])
  {
    var t := Advance(s, r, length, quorum);
    var was, now := s.replicas[r], t.replicas[r];
    var view := was.view;
    reveal Primary();
    ReplicaHolds(s.replicas, s.said, r);
    assert SaidGrows(s.said[view], t.said[view]);
    assert ReplicaGrows(was, now);
    assert AllHave(s.replicas, quorum, view, length);
    ChosenGrows(s.replicas, t.replicas, view, length);
    assert |t.said[view].log[..length]| == length;
  }

  lemma PromiseKeeps(s: Cluster, r: nat, view: nat)
    requires Inv(s.replicas, s.said)
    ensures var t := Promise(s, r, view); Inv(t.replicas, t.said) && Grows(s.replicas, s.said, t.replicas, t.said)
  {
    var t := Promise(s, r, view);
    if t != s {
      PromiseGrows(s, r, view);
      CommittedStaysSettled(s.replicas, s.said, t.replicas, s.said, r);
      PromisedVotes(s, r, view);
      QuietStep(s.replicas, s.said, t.replicas, s.said, r);
    }
  }

  lemma PromiseGrows(s: Cluster, r: nat, view: nat)
    requires Inv(s.replicas, s.said)
    requires Promise(s, r, view) != s
    ensures var t := Promise(s, r, view);
      Grows(s.replicas, s.said, t.replicas, s.said) && ReplicaOk(s.said, |t.replicas|, r, t.replicas[r])
  {
    ReplicaHolds(s.replicas, s.said, r);
    assert ReplicaGrows(s.replicas[r], Promise(s, r, view).replicas[r]);
  }

  lemma PromisedVotes(s: Cluster, r: nat, view: nat)
    requires Inv(s.replicas, s.said)
    requires Promise(s, r, view) != s
    ensures var x := Promise(s, r, view).replicas[r]; forall v | v in x.votes :: VoteOk(s.said, x, v)
  {
    var t := Promise(s, r, view);
    PromiseGrows(s, r, view);
    forall v | v in t.replicas[r].votes
      ensures VoteOk(s.said, t.replicas[r], v)
    {
      if v != view {
        VotesStay(s.replicas, s.said, t.replicas, s.said, r, v);
      } else {
        ReplicaHolds(s.replicas, s.said, r);
      }
    }
  }

  // A step that begins no view, and after which primaries have said no more than before of what is committed.
  lemma QuietStep(rs: seq<Replica>, said: map<nat, Said>, rt: seq<Replica>, sayd: map<nat, Said>, r: nat)
    requires Inv(rs, said) && Grows(rs, said, rt, sayd) && r < |rs|
    requires forall x | 0 <= x < |rs| && x != r :: rt[x] == rs[x]
    requires forall v | v in sayd :: v in said && sayd[v].commit == said[v].commit
    requires forall v | v in said && Primary(|rs|, v) != r :: sayd[v] == said[v]
    requires rs[r].normal <= rt[r].normal
    requires ReplicaOk(sayd, |rt|, r, rt[r])
    requires Settled(rt, sayd, rt[r].normal, Committed(rt[r]))
    requires forall v | v in rt[r].votes :: VoteOk(sayd, rt[r], v)
    ensures Inv(rt, sayd)
  {
    forall v | v in sayd
      ensures SaidOk(rt, sayd, v)
    {
      SaidStays(rs, said, rt, sayd, v);
    }
    StableStays(rs, said, rt, sayd);
    InvFromStep(rs, said, rt, sayd, r);
  }

  // The heart of it: the log that a view begins with has all that could be chosen in any older view.
  lemma NewViewHasWhatCouldBeChosen(rs: seq<Replica>, said: map<nat, Said>, view: nat, quorum: set<nat>, best: nat,
                                    u: nat, i: nat)
    requires Inv(rs, said)
    requires IsQuorum(|rs|, quorum) && best in quorum
    requires forall q | q in quorum :: view in rs[q].votes
    requires forall q | q in quorum :: NoLessRecent(rs[best].votes[view], rs[q].votes[view])
    requires u in said && u < view && i <= |said[u].log| && Choosable(rs, u, i)
    ensures i <= |rs[best].votes[view].log| && said[u].log[..i] == rs[best].votes[view].log[..i]
  {
    var q :| AllCould(rs, q, u, i);
    QuorumsIntersect(|rs|, q, quorum);
    var r :| r in q && r in quorum;
    var vote, chosen := rs[r].votes[view], rs[best].votes[view];
    VoteHolds(rs, said, r, view);
    VoteHolds(rs, said, best, view);
    assert i <= Acked(rs[r], u);
    if i > 0 {
      assert u <= vote.normal <= chosen.normal;
      if u < chosen.normal {
        OldPairIsKept(rs, said, u, chosen.normal, i);
      }
    }
  }

  lemma LeadKeeps(s: Cluster, r: nat, quorum: set<nat>, best: nat)
    requires Inv(s.replicas, s.said)
    ensures var t := Lead(s, r, quorum, best);
      Inv(t.replicas, t.said) && Grows(s.replicas, s.said, t.replicas, t.said)
  {
    var t := Lead(s, r, quorum, best);
    if t != s {
      var rs, rt := s.replicas, t.replicas;
      var said: map<nat, Said> := s.said;
      var sayd: map<nat, Said> := t.said;
      var view := rs[r].view;
      LeadGrows(s, r, quorum, best);
      LeadIsStable(s, r, quorum, best);
      LeadKeepsCommitted(s, r, quorum, best);
      forall v | v in rt[r].votes
        ensures VoteOk(sayd, rt[r], v)
      {
        VotesStay(rs, said, rt, sayd, r, v);
      }
      forall v | v in sayd
        ensures SaidOk(rt, sayd, v)
      {
        if v != view {
          SaidStays(rs, said, rt, sayd, v);
        } else {
          VotersKnow(rs, said, quorum, view);
          MostKnowStays(rs, rt, view);
        }
      }
      InvFromStep(rs, said, rt, sayd, r);
    }
  }

  lemma LeadKeepsCommitted(s: Cluster, r: nat, quorum: set<nat>, best: nat)
    requires Inv(s.replicas, s.said)
    requires Lead(s, r, quorum, best) != s
    ensures var t := Lead(s, r, quorum, best);
      var view := s.replicas[r].view;
      ReplicaOk(t.said, |t.replicas|, r, t.replicas[r])
      && Primary(|s.replicas|, view) == r
      && t.said[view].commit <= |t.said[view].log|
      && Committed(t.replicas[r]) == t.said[view].log[..t.said[view].commit]
      && Settled(t.replicas, t.said, view, Committed(t.replicas[r]))
  {
    var t := Lead(s, r, quorum, best);
    var was, now := s.replicas[r], t.replicas[r];
    var w := Committed(was);
    LeadGrows(s, r, quorum, best);
    LeadIsStable(s, r, quorum, best);
    ReplicaHolds(s.replicas, s.said, r);
    CommittedIsSettled(s.replicas, s.said, r);
    SettledStays(s.replicas, s.said, t.replicas, t.said, was.normal, was.normal, w);
    SettledIsKept(t.replicas, t.said, was.normal, was.view, w);
    SettledStays(s.replicas, s.said, t.replicas, t.said, was.normal, was.view, w);
    assert w == now.log[..was.commit];
    reveal Primary();
  }

  lemma VotersKnow(rs: seq<Replica>, said: map<nat, Said>, quorum: set<nat>, view: nat)
    requires Inv(rs, said)
    requires IsQuorum(|rs|, quorum) && forall q | q in quorum :: view in rs[q].votes
    ensures MostKnow(rs, view)
  {
    forall q | q in quorum
      ensures view <= rs[q].view
    {
      VoteHolds(rs, said, q, view);
    }
    assert AllKnow(rs, quorum, view);
  }

  lemma LeadGrows(s: Cluster, r: nat, quorum: set<nat>, best: nat)
    requires Inv(s.replicas, s.said)
    requires Lead(s, r, quorum, best) != s
    ensures s.replicas[r].view !in s.said
    ensures var t := Lead(s, r, quorum, best); Grows(s.replicas, s.said, t.replicas, t.said)
  {
    var view := s.replicas[r].view;
    ReplicaHolds(s.replicas, s.said, r);
    if view in s.said {
      SaidHolds(s.replicas, s.said, view);
      reveal Primary();
    }
  }

  lemma LeadIsStable(s: Cluster, r: nat, quorum: set<nat>, best: nat)
    requires Inv(s.replicas, s.said)
    requires Lead(s, r, quorum, best) != s
    ensures var t := Lead(s, r, quorum, best); Stable(t.replicas, t.said)
  {
    var t := Lead(s, r, quorum, best);
    var rs, rt := s.replicas, t.replicas;
    var said: map<nat, Said> := s.said;
    var sayd: map<nat, Said> := t.said;
    var view := rs[r].view;
    LeadGrows(s, r, quorum, best);
    forall u, v, i: nat | u in sayd && v in sayd && u < v && i <= |sayd[u].log| && Choosable(rt, u, i)
      ensures Kept(sayd, u, v, i)
    {
      if v == view {
        ChoosableShrinks(rs, rt, u, i);
        NewViewHasWhatCouldBeChosen(rs, said, view, quorum, best, u, i);
      } else if u == view {
        ChoosableShrinks(rs, rt, u, i);
        NobodyIsThatFar(rs, said, u, v, i);
      } else {
        StableForOldViews(rs, said, rt, sayd, u, v, i);
      }
    }
  }

  lemma StepKeeps(s: Cluster, step: Step)
    requires Inv(s.replicas, s.said)
    ensures var t := Apply(s, step); Inv(t.replicas, t.said) && Grows(s.replicas, s.said, t.replicas, t.said)
  {
    match step {
      case DoSubmit(r, write) => SubmitKeeps(s, r, write);
      case DoAccept(r, view, length, commit) => AcceptKeeps(s, r, view, length, commit);
      case DoAdvance(r, length, quorum) => AdvanceKeeps(s, r, length, quorum);
      case DoPromise(r, view) => PromiseKeeps(s, r, view);
      case DoLead(r, quorum, best) => LeadKeeps(s, r, quorum, best);
      case DoAnswerWrite(r, position) =>
      case DoBeginRead(r, id, key) =>
      case DoConfirmRead(r, id) =>
      case DoFinishRead(r, id) =>
    }
  }

  lemma FreshReplicas(n: nat)
    ensures |Fresh(n)| == n
    ensures forall r | 0 <= r < n :: Fresh(n)[r] == Replica(0, 0, [], 0, map[0 := 0], map[])
  {
  }

  lemma InitialHolds(n: nat)
    requires 0 < n
    ensures Inv(Initial(n).replicas, Initial(n).said)
  {
    var rs := Initial(n).replicas;
    var said: map<nat, Said> := Initial(n).said;
    FreshReplicas(n);
    SizeOfUpTo(n);
    assert AllKnow(rs, UpTo(n), 0);
    assert AllHave(rs, UpTo(n), 0, 0);
    assert Chosen(rs, 0, |said[0].log[..0]|);
    assert Settled(rs, said, 0, said[0].log[..0]);
    forall r | 0 <= r < n
      ensures ReplicaOk(said, n, r, rs[r]) && Settled(rs, said, rs[r].normal, Committed(rs[r]))
    {
      assert Committed(rs[r]) == said[0].log[..0];
    }
    PrimaryIsAReplica(n, 0);
    assert SaidOk(rs, said, 0);
    InvFromParts(rs, said);
  }

  lemma RunKeeps(n: nat, steps: seq<Step>)
    requires 0 < n
    ensures Inv(Run(n, steps).replicas, Run(n, steps).said) && |Run(n, steps).replicas| == n
    decreases |steps|
  {
    if |steps| == 0 {
      FreshReplicas(n);
      InitialHolds(n);
    } else {
      RunKeeps(n, steps[..|steps| - 1]);
      StepKeeps(Run(n, steps[..|steps| - 1]), steps[|steps| - 1]);
    }
  }

  // ---- The order of the writes -------------------------------------------------------------------------------------

  lemma FurthestIsOne(rs: seq<Replica>) returns (r: nat)
    requires 0 < |rs|
    ensures r < |rs| && Furthest(rs) == Committed(rs[r])
  {
    var last := |rs| - 1;
    if last == 0 || |Furthest(rs[..last])| < |Committed(rs[last])| {
      r := last;
    } else {
      r := FurthestIsOne(rs[..last]);
    }
  }

  lemma FurthestIsLongest(rs: seq<Replica>, r: nat)
    requires r < |rs|
    ensures |Committed(rs[r])| <= |Furthest(rs)|
  {
    var last := |rs| - 1;
    if r < last {
      FurthestIsLongest(rs[..last], r);
    }
  }

  lemma CommittedIsInOrder(rs: seq<Replica>, said: map<nat, Said>, r: nat)
    requires Inv(rs, said) && r < |rs|
    ensures Committed(rs[r]) <= Furthest(rs)
  {
    var o := FurthestIsOne(rs);
    FurthestIsLongest(rs, r);
    StableHolds(rs, said);
    CommittedIsSettled(rs, said, r);
    CommittedIsSettled(rs, said, o);
    SettledAgree(rs, said, rs[r].normal, Committed(rs[r]), rs[o].normal, Committed(rs[o]));
  }

  lemma OrderGrows(rs: seq<Replica>, said: map<nat, Said>, rt: seq<Replica>, sayd: map<nat, Said>)
    requires Inv(rs, said) && Inv(rt, sayd) && Grows(rs, said, rt, sayd)
    ensures Furthest(rs) <= Furthest(rt)
  {
    StableHolds(rt, sayd);
    var r := FurthestIsOne(rs);
    ReplicaHolds(rs, said, r);
    ReplicaHolds(rt, sayd, r);
    CommittedIsSettled(rs, said, r);
    CommittedIsSettled(rt, sayd, r);
    assert ReplicaGrows(rs[r], rt[r]);
    SettledStays(rs, said, rt, sayd, rs[r].normal, rs[r].normal, Committed(rs[r]));
    SettledAgree(rt, sayd, rs[r].normal, Committed(rs[r]), rt[r].normal, Committed(rt[r]));
    CommittedIsInOrder(rt, sayd, r);
  }

  lemma StepGrowsOrder(s: Cluster, step: Step)
    requires Inv(s.replicas, s.said)
    ensures Order(s) <= Order(Apply(s, step))
  {
    StepKeeps(s, step);
    OrderGrows(s.replicas, s.said, Apply(s, step).replicas, Apply(s, step).said);
  }

  // ---- Reads -------------------------------------------------------------------------------------------------------

  predicate AllConfirm(rs: seq<Replica>, q: set<nat>, read: Read)
  {
    IsQuorum(|rs|, q) && forall r | r in q :: r in read.confirmed || rs[r].view <= read.view
  }

  // A quorum has confirmed the read, or could still.
  predicate Confirmable(rs: seq<Replica>, read: Read)
  {
    exists q :: AllConfirm(rs, q, read)
  }

  lemma BeginIsCurrent(s: Cluster, r: nat)
    requires Inv(s.replicas, s.said) && IsPrimary(s, r)
    requires s.said[s.replicas[r].view].start <= s.replicas[r].commit
    requires NoneNewer(s.replicas, s.replicas[r].view)
    ensures |Order(s)| <= s.replicas[r].commit
  {
    var rs := s.replicas;
    var said: map<nat, Said> := s.said;
    var view := rs[r].view;
    StableHolds(rs, said);
    var o := FurthestIsOne(rs);
    var w := Committed(rs[o]);
    CommittedIsSettled(rs, said, o);
    var u :| u in said && u <= rs[o].normal && Chosen(rs, u, |w|) && w <= said[u].log && |w| <= said[u].commit;
    SaidHolds(rs, said, u);
    ReplicaHolds(rs, said, r);
    assert Primary(|rs|, view) == r by {
      reveal Primary();
    }
    var q :| AllOld(rs, q, view);
    var p :| AllKnow(rs, p, u);
    QuorumsIntersect(|rs|, q, p);
    assert u <= view;
    if u < view {
      assert Settled(rs, said, u, w);
      SettledIsKept(rs, said, u, view, w);
    }
  }

  // A read that is pending stays so, and can only lose those who could confirm it.
  lemma PendingStays(s: Cluster, step: Step, id: nat)
    requires Inv(s.replicas, s.said)
    requires id in s.pending
    ensures var t := Apply(s, step);
      id in t.pending && t.pending[id].index == s.pending[id].index
      && (Confirmable(t.replicas, t.pending[id]) ==> Confirmable(s.replicas, s.pending[id]))
  {
    StepKeeps(s, step);
    var t := Apply(s, step);
    if Confirmable(t.replicas, t.pending[id]) {
      var q :| AllConfirm(t.replicas, q, t.pending[id]);
      forall r | r in q
        ensures r in s.pending[id].confirmed || s.replicas[r].view <= s.pending[id].view
      {
        assert ReplicaGrows(s.replicas[r], t.replicas[r]);
      }
      assert AllConfirm(s.replicas, q, s.pending[id]);
    }
  }

  lemma BegunIsCurrent(s: Cluster, step: Step, id: nat)
    requires Inv(s.replicas, s.said)
    requires id !in s.pending && id in Apply(s, step).pending
    requires Confirmable(Apply(s, step).replicas, Apply(s, step).pending[id])
    ensures |Order(s)| <= Apply(s, step).pending[id].index
  {
    assert step.DoBeginRead?;
    var read := Apply(s, step).pending[id];
    var q :| AllConfirm(s.replicas, q, read);
    assert AllOld(s.replicas, q, read.view);
    BeginIsCurrent(s, step.r);
  }

  lemma CurrentSince(n: nat, steps: seq<Step>, i: nat, id: nat)
    requires 0 < n && i <= |steps|
    requires id !in Run(n, steps[..i]).pending
    requires id in Run(n, steps).pending && Confirmable(Run(n, steps).replicas, Run(n, steps).pending[id])
    ensures |Order(Run(n, steps[..i]))| <= Run(n, steps).pending[id].index
    decreases |steps|
  {
    assert steps[..|steps|] == steps;
    var last := |steps| - 1;
    var s := Run(n, steps[..last]);
    RunKeeps(n, steps[..last]);
    assert steps[..last][..i] == steps[..i];
    if id in s.pending {
      PendingStays(s, steps[last], id);
      CurrentSince(n, steps[..last], i, id);
    } else {
      BegunIsCurrent(s, steps[last], id);
      CommittedOnlyGrows(n, steps, i, last);
    }
  }

  // ---- What clients see --------------------------------------------------------------------------------------------

  predicate LogsAreAsked(history: seq<Event>, said: map<nat, Said>)
  {
    forall v | v in said :: NothingInvented(history, said[v].log)
  }

  // What was answered before a read began is no more than what the read will be answered from.
  predicate ReadsOk(s: Cluster)
  {
    forall i, j | 0 <= i < j < |s.history| && Done(s.history[i]) && s.history[j].ReadAsked?
                  && s.history[j].id in s.pending && Confirmable(s.replicas, s.pending[s.history[j].id]) ::
      s.history[i].revision <= s.pending[s.history[j].id].index
  }

  predicate HistoryOk(s: Cluster)
  {
    AnswersAgree(s.history, Order(s))
    && RealTimeIsKept(s.history, Order(s))
    && LogsAreAsked(s.history, s.said)
    && ReadsOk(s)
  }

  lemma OrderIsAsked(s: Cluster)
    requires Inv(s.replicas, s.said) && LogsAreAsked(s.history, s.said)
    ensures NothingInvented(s.history, Order(s))
  {
    StableHolds(s.replicas, s.said);
    var o := FurthestIsOne(s.replicas);
    ReplicaHolds(s.replicas, s.said, o);
    assert NothingInvented(s.history, s.said[s.replicas[o].normal].log);
  }

  lemma AnswersStay(history: seq<Event>, order: seq<Write>, more: seq<Write>)
    requires AnswersAgree(history, order) && RealTimeIsKept(history, order) && order <= more
    ensures AnswersAgree(history, more) && RealTimeIsKept(history, more)
  {
    forall i | 0 <= i < |history| && Done(history[i])
      ensures history[i].revision <= |order| && more[..history[i].revision] == order[..history[i].revision]
    {
    }
  }

  lemma EventAppended(history: seq<Event>, event: Event, order: seq<Write>)
    requires AnswersAgree(history, order) && RealTimeIsKept(history, order)
    requires AnswersAgree([event], order)
    requires event.WriteAsked? ==>
      forall i | 0 <= i < |history| && Done(history[i]) && history[i].revision <= |order| ::
        !HasId(order[..history[i].revision], event.write.id)
    requires event.ReadDone? ==>
      forall i, j | 0 <= i < j < |history| && Done(history[i])
                    && history[j].ReadAsked? && history[j].id == event.id ::
        history[i].revision <= event.revision
    ensures AnswersAgree(history + [event], order) && RealTimeIsKept(history + [event], order)
  {
    var longer := history + [event];
    forall i | 0 <= i < |longer| && Done(longer[i])
      ensures longer[i].revision <= |order|
    {
      assert longer[i] == if i < |history| then history[i] else [event][0];
    }
    assert AnswersAgree(longer, order) by {
      forall i | 0 <= i < |longer| && Done(longer[i])
        ensures AnswersAgree([longer[i]], order)
      {
        if i < |history| {
          assert longer[i] == history[i];
        }
      }
      assert forall i | 0 <= i < |longer| && Done(longer[i]) :: [longer[i]][0] == longer[i];
    }
  }

  lemma AskedStays(history: seq<Event>, event: Event, writes: seq<Write>)
    requires NothingInvented(history, writes)
    ensures NothingInvented(history + [event], writes)
  {
    forall i | 0 <= i < |writes|
      ensures Asked(history + [event], writes[i])
    {
      var j :| 0 <= j < |history| && history[j] == WriteAsked(writes[i]);
      assert (history + [event])[j] == WriteAsked(writes[i]);
    }
  }

  lemma LogsStayAsked(history: seq<Event>, event: Event, said: map<nat, Said>)
    requires LogsAreAsked(history, said)
    ensures LogsAreAsked(history + [event], said)
  {
    forall v | v in said
      ensures NothingInvented(history + [event], said[v].log)
    {
      AskedStays(history, event, said[v].log);
    }
  }

  lemma QuietKeepsHistory(s: Cluster, step: Step)
    requires Inv(s.replicas, s.said) && HistoryOk(s)
    requires Apply(s, step).history == s.history
    ensures HistoryOk(Apply(s, step))
  {
    var t := Apply(s, step);
    StepGrowsOrder(s, step);
    AnswersStay(s.history, Order(s), Order(t));
    forall v | v in t.said
      ensures NothingInvented(t.history, t.said[v].log)
    {
      if v !in s.said || t.said[v].log != s.said[v].log {
        assert step.DoLead?;
        var vote := s.replicas[step.best].votes[v];
        VoteHolds(s.replicas, s.said, step.best, v);
        assert NothingInvented(s.history, s.said[vote.normal].log);
      }
    }
    forall i, j | 0 <= i < j < |t.history| && Done(t.history[i]) && t.history[j].ReadAsked?
                  && t.history[j].id in t.pending && Confirmable(t.replicas, t.pending[t.history[j].id])
      ensures t.history[i].revision <= t.pending[t.history[j].id].index
    {
      assert t.history[j].id in s.pending;
      PendingStays(s, step, t.history[j].id);
    }
  }

  lemma NewIdIsNotThere(history: seq<Event>, writes: seq<Write>, id: nat, n: nat)
    requires NothingInvented(history, writes) && n <= |writes|
    requires forall i | 0 <= i < |history| && history[i].WriteAsked? :: history[i].write.id != id
    ensures !HasId(writes[..n], id)
  {
    forall k | 0 <= k < |writes[..n]|
      ensures writes[..n][k].id != id
    {
      assert Asked(history, writes[k]);
    }
  }

  lemma SubmitKeepsHistory(s: Cluster, step: Step)
    requires Inv(s.replicas, s.said) && HistoryOk(s)
    requires step.DoSubmit? && Apply(s, step) != s
    ensures HistoryOk(Apply(s, step))
  {
    var t := Apply(s, step);
    var event := WriteAsked(step.write);
    StepGrowsOrder(s, step);
    OrderIsAsked(s);
    AnswersStay(s.history, Order(s), Order(t));
    forall i | 0 <= i < |s.history| && Done(s.history[i]) && s.history[i].revision <= |Order(t)|
      ensures !HasId(Order(t)[..s.history[i].revision], step.write.id)
    {
      assert Order(t)[..s.history[i].revision] == Order(s)[..s.history[i].revision];
      NewIdIsNotThere(s.history, Order(s), step.write.id, s.history[i].revision);
    }
    EventAppended(s.history, event, Order(t));
    SubmittedIsAsked(s, step);
    PendingOutlivesEvents(s, step);
  }

  lemma SubmittedIsAsked(s: Cluster, step: Step)
    requires Inv(s.replicas, s.said) && HistoryOk(s)
    requires step.DoSubmit? && Apply(s, step) != s
    ensures LogsAreAsked(Apply(s, step).history, Apply(s, step).said)
  {
    var t := Apply(s, step);
    var view := s.replicas[step.r].view;
    var log := s.said[view].log;
    ReplicaHolds(s.replicas, s.said, step.r);
    assert Primary(|s.replicas|, view) == step.r by {
      reveal Primary();
    }
    LogsStayAsked(s.history, WriteAsked(step.write), s.said);
    assert t.history[|s.history|] == WriteAsked(step.write);
    assert NothingInvented(s.history, log);
    forall k | 0 <= k < |log|
      ensures log[k].id != step.write.id
    {
      assert Asked(s.history, log[k]);
    }
    assert t.said[view].log == log + [step.write];
    assert NothingInvented(t.history, log);
    forall v | v in t.said
      ensures NothingInvented(t.history, t.said[v].log)
    {
      if v != view {
        assert t.said[v] == s.said[v];
      }
    }
  }

  // Where the new event begins no read, what is known of the reads stays known.
  lemma PendingOutlivesEvents(s: Cluster, step: Step)
    requires Inv(s.replicas, s.said) && ReadsOk(s)
    requires Apply(s, step).history == s.history
      || (|Apply(s, step).history| == |s.history| + 1 && s.history <= Apply(s, step).history
          && !Apply(s, step).history[|s.history|].ReadAsked?)
    ensures ReadsOk(Apply(s, step))
  {
    var t := Apply(s, step);
    forall i, j | 0 <= i < j < |t.history| && Done(t.history[i]) && t.history[j].ReadAsked?
                  && t.history[j].id in t.pending && Confirmable(t.replicas, t.pending[t.history[j].id])
      ensures t.history[i].revision <= t.pending[t.history[j].id].index
    {
      assert j < |s.history| && t.history[i] == s.history[i] && t.history[j] == s.history[j];
      assert t.history[j].id in s.pending;
      PendingStays(s, step, t.history[j].id);
    }
  }

  lemma AnswerKeepsHistory(s: Cluster, step: Step)
    requires Inv(s.replicas, s.said) && HistoryOk(s)
    requires step.DoAnswerWrite? && Apply(s, step) != s
    ensures HistoryOk(Apply(s, step))
  {
    var t := Apply(s, step);
    var event := t.history[|s.history|];
    CommittedIsInOrder(s.replicas, s.said, step.r);
    EventAppended(s.history, event, Order(s));
    LogsStayAsked(s.history, event, s.said);
    PendingOutlivesEvents(s, step);
  }

  lemma FinishKeepsHistory(s: Cluster, step: Step)
    requires Inv(s.replicas, s.said) && HistoryOk(s)
    requires step.DoFinishRead? && Apply(s, step) != s
    ensures HistoryOk(Apply(s, step))
  {
    var t := Apply(s, step);
    var event := t.history[|s.history|];
    var writes := Committed(s.replicas[step.r]);
    CommittedIsInOrder(s.replicas, s.said, step.r);
    ReplicaHolds(s.replicas, s.said, step.r);
    assert Order(s)[..|writes|] == writes;
    assert AllConfirm(s.replicas, s.pending[step.id].confirmed, s.pending[step.id]);
    EventAppended(s.history, event, Order(s));
    LogsStayAsked(s.history, event, s.said);
    PendingOutlivesEvents(s, step);
  }

  lemma BeginKeepsHistory(s: Cluster, step: Step)
    requires Inv(s.replicas, s.said) && HistoryOk(s)
    requires step.DoBeginRead? && Apply(s, step) != s
    ensures HistoryOk(Apply(s, step))
  {
    var t := Apply(s, step);
    var event := t.history[|s.history|];
    EventAppended(s.history, event, Order(s));
    LogsStayAsked(s.history, event, s.said);
    forall i, j | 0 <= i < j < |t.history| && Done(t.history[i]) && t.history[j].ReadAsked?
                  && t.history[j].id in t.pending && Confirmable(t.replicas, t.pending[t.history[j].id])
      ensures t.history[i].revision <= t.pending[t.history[j].id].index
    {
      assert t.history[i] == s.history[i];
      if t.history[j].id == step.id {
        BegunIsCurrent(s, step, step.id);
      } else {
        assert t.history[j] == s.history[j];
      }
    }
  }

  lemma StepKeepsHistory(s: Cluster, step: Step)
    requires Inv(s.replicas, s.said) && HistoryOk(s)
    ensures HistoryOk(Apply(s, step))
  {
    if Apply(s, step) != s {
      match step {
        case DoSubmit(r, write) => SubmitKeepsHistory(s, step);
        case DoAccept(r, view, length, commit) => QuietKeepsHistory(s, step);
        case DoAdvance(r, length, quorum) => QuietKeepsHistory(s, step);
        case DoPromise(r, view) => QuietKeepsHistory(s, step);
        case DoLead(r, quorum, best) => QuietKeepsHistory(s, step);
        case DoAnswerWrite(r, position) => AnswerKeepsHistory(s, step);
        case DoBeginRead(r, id, key) => BeginKeepsHistory(s, step);
        case DoConfirmRead(r, id) => QuietKeepsHistory(s, step);
        case DoFinishRead(r, id) => FinishKeepsHistory(s, step);
      }
    }
  }

  lemma RunKeepsHistory(n: nat, steps: seq<Step>)
    requires 0 < n
    ensures HistoryOk(Run(n, steps))
    ensures NothingInvented(Run(n, steps).history, Order(Run(n, steps)))
    decreases |steps|
  {
    RunKeeps(n, steps);
    if |steps| > 0 {
      RunKeeps(n, steps[..|steps| - 1]);
      RunKeepsHistory(n, steps[..|steps| - 1]);
      StepKeepsHistory(Run(n, steps[..|steps| - 1]), steps[|steps| - 1]);
    }
    OrderIsAsked(Run(n, steps));
  }

  lemma NewlyCommittedWereAsked(s: Cluster, step: Step, i: nat)
    requires Inv(s.replicas, s.said) && HistoryOk(s)
    requires |Order(s)| <= i < |Order(Apply(s, step))|
    ensures Asked(s.history, Order(Apply(s, step))[i])
  {
    var t := Apply(s, step);
    StableHolds(s.replicas, s.said);
    StepKeeps(s, step);
    var o := FurthestIsOne(t.replicas);
    ReplicaHolds(s.replicas, s.said, o);
    FurthestIsLongest(s.replicas, o);
    StepKeepsHistory(s, step);
    OrderIsAsked(t);
    assert Asked(t.history, Order(t)[i]);
    var j :| 0 <= j < |t.history| && t.history[j] == WriteAsked(Order(t)[i]);
    if step.DoSubmit? {
      assert Committed(t.replicas[o]) == Committed(s.replicas[o]);
    } else {
      assert j < |s.history| && s.history[j] == t.history[j];
    }
  }

  lemma StepRefines(s: Cluster, step: Step)
    requires Inv(s.replicas, s.said) && HistoryOk(s)
    ensures Order(s) <= Order(Apply(s, step))
    ensures MapOf(Order(Apply(s, step))) == Replay(MapOf(Order(s)), Order(Apply(s, step))[|Order(s)|..])
    ensures forall i | |Order(s)| <= i < |Order(Apply(s, step))| ::
      Asked(s.history, Order(Apply(s, step))[i]) && !HasId(Order(s), Order(Apply(s, step))[i].id)
  {
    var t := Apply(s, step);
    StepGrowsOrder(s, step);
    StepKeeps(s, step);
    StepKeepsHistory(s, step);
    OrderIsAsked(t);
    var more := Order(t)[|Order(s)|..];
    assert Order(s) + more == Order(t);
    ReplayComposes(map[], Order(s), more);
    forall i | |Order(s)| <= i < |Order(t)|
      ensures Asked(s.history, Order(t)[i])
    {
      NewlyCommittedWereAsked(s, step, i);
    }
  }

  // ---- A run in which something happens ----------------------------------------------------------------------------

  lemma RunGoesOn(n: nat, steps: seq<Step>, step: Step)
    ensures Run(n, steps + [step]) == Apply(Run(n, steps), step)
  {
    assert (steps + [step])[..|steps|] == steps;
  }

  // Replica 0 has the write committed, with the help of replica 1, which hears of it.
  lemma WriteIsCommitted(write: Write) returns (steps: seq<Step>)
    ensures var s := Run(3, steps);
      var said := map[0 := Said(0, [write], 1)];
      s == Cluster(s.replicas, said, map[], [WriteAsked(write)])
      && s.replicas == [Replica(0, 0, [write], 1, map[0 := 1], map[]),
                        Replica(0, 0, [write], 1, map[0 := 1], map[]),
                        Replica(0, 0, [], 0, map[0 := 0], map[])]
  {
    var blank := Replica(0, 0, [], 0, map[0 := 0], map[]);
    var has := Replica(0, 0, [write], 0, map[0 := 1], map[]);
    var knows := Replica(0, 0, [write], 1, map[0 := 1], map[]);
    var history := [WriteAsked(write)];
    FreshReplicas(3);
    assert Fresh(3) == [blank, blank, blank];
    steps := [];
    RunGoesOn(3, steps, DoSubmit(0, write));
    steps := steps + [DoSubmit(0, write)];
    var s := Run(3, steps);
    assert blank.log + [write] == [write] && blank.acked[0 := 1] == map[0 := 1];
    assert s.replicas == [has, blank, blank];
    assert s.said == map[0 := Said(0, [write], 0)];
    assert s.history == history;
    RunGoesOn(3, steps, DoAccept(1, 0, 1, 0));
    steps := steps + [DoAccept(1, 0, 1, 0)];
    s := Run(3, steps);
    assert s.said[0].log[..1] == [write];
    assert s.replicas == [has, has, blank];
    RunGoesOn(3, steps, DoAdvance(0, 1, {0, 1}));
    steps := steps + [DoAdvance(0, 1, {0, 1})];
    s := Run(3, steps);
    assert |{0, 1}| == 2;
    assert s.replicas == [knows, has, blank];
    assert s.said == map[0 := Said(0, [write], 1)];
    RunGoesOn(3, steps, DoAccept(1, 0, 1, 1));
    steps := steps + [DoAccept(1, 0, 1, 1)];
    s := Run(3, steps);
    assert s.said[0].log[..1] == [write];
    assert has.acked[0 := 1] == map[0 := 1];
    assert s.replicas == [knows, knows, blank];
  }

  // Replicas 1 and 2 begin view 1, with what replica 1 has.
  lemma ViewIsChanged(write: Write) returns (steps: seq<Step>)
    ensures var s := Run(3, steps);
      |s.replicas| == 3
      && 0 in s.said && 1 in s.said && s.said[1] == Said(1, [write], 1)
      && s.pending == map[]
      && s.replicas[1].view == 1 && s.replicas[1].normal == 1
      && s.replicas[1].log == [write] && s.replicas[1].commit == 1
      && s.replicas[2].view == 1
  {
    steps := WriteIsCommitted(write);
    RunGoesOn(3, steps, DoPromise(1, 1));
    steps := steps + [DoPromise(1, 1)];
    RunGoesOn(3, steps, DoPromise(2, 1));
    steps := steps + [DoPromise(2, 1)];
    var s := Run(3, steps);
    assert s.replicas[1].votes[1] == Vote(0, [write]);
    assert s.replicas[2].votes[1] == Vote(0, []);
    assert |{1, 2}| == 2;
    RunGoesOn(3, steps, DoLead(1, {1, 2}, 1));
    steps := steps + [DoLead(1, {1, 2}, 1)];
  }
}
