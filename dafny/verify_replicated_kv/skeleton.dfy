// Prove that the replicated store is one sequential map. The specification, ReplicatedKvSpec, is given; the lemmas
// below are required as they are stated. Lemmas, functions and predicates of your own may be added.

module ReplicatedKvProof {
  import opened ReplicatedKvSpec

  // ---- Quorums and logs --------------------------------------------------------------------------------------------

  // Any two quorums have a replica in common.
  lemma QuorumsIntersect(n: nat, a: set<nat>, b: set<nat>)
    requires IsQuorum(n, a) && IsQuorum(n, b)
    ensures exists r :: r in a && r in b
  { }

  // Logs from the same view are one log, of which one replica may have more than another.
  lemma ViewHasOneLog(n: nat, steps: seq<Step>, a: nat, b: nat, i: nat)
    requires a < n && b < n
    ensures var s := Run(n, steps);
      |s.replicas| == n
      && (s.replicas[a].normal == s.replicas[b].normal && i < |s.replicas[a].log| && i < |s.replicas[b].log|
          ==> s.replicas[a].log[i] == s.replicas[b].log[i])
  { }

  // What a replica knows to be committed is in the log of every replica whose log is from a newer view.
  lemma NewerLogsHaveWhatIsCommitted(n: nat, steps: seq<Step>, a: nat, b: nat)
    requires a < n && b < n
    ensures var s := Run(n, steps);
      |s.replicas| == n
      && (s.replicas[a].normal < s.replicas[b].normal ==> Committed(s.replicas[a]) <= s.replicas[b].log)
  { }

  // ---- One map -----------------------------------------------------------------------------------------------------

  // Of what two replicas have committed, one is a prefix of the other.
  lemma CommittedPrefixesAgree(n: nat, steps: seq<Step>, a: nat, b: nat)
    requires a < n && b < n
    ensures var s := Run(n, steps);
      |s.replicas| == n
      && (Committed(s.replicas[a]) <= Committed(s.replicas[b]) || Committed(s.replicas[b]) <= Committed(s.replicas[a]))
  { }

  // What is committed stays committed, in its order, whatever happens: later steps only add to it.
  lemma CommittedOnlyGrows(n: nat, steps: seq<Step>, i: nat, j: nat)
    requires 0 < n
    requires i <= j <= |steps|
    ensures Order(Run(n, steps[..i])) <= Order(Run(n, steps[..j]))
  { }

  // Every step of the cluster is a number of writes to the abstract map, each asked for before and new to it.
  lemma {:induction false} RefinesSequentialMap(n: nat, steps: seq<Step>, step: Step)
    requires 0 < n
    ensures var before := Run(n, steps);
      var after := Run(n, steps + [step]);
      Order(before) <= Order(after)
      && MapOf(Order(after)) == Replay(MapOf(Order(before)), Order(after)[|Order(before)|..])
      && forall i | |Order(before)| <= i < |Order(after)| ::
           Asked(before.history, Order(after)[i]) && !HasId(Order(before), Order(after)[i].id)
  { }

  // The state that any replica's commit point stands for is one that the abstract map has, or has had.
  lemma EveryCommitPointIsAbstract(n: nat, steps: seq<Step>, r: nat)
    requires r < n
    ensures var s := Run(n, steps);
      |s.replicas| == n
      && s.replicas[r].commit <= |Order(s)|
      && MapOf(Committed(s.replicas[r])) == MapOf(Order(s)[..s.replicas[r].commit])
  { }

  // ---- What clients see --------------------------------------------------------------------------------------------

  // A read that a quorum has confirmed is answered from what was committed when it began, or from more.
  lemma ConfirmedReadsAreCurrent(n: nat, steps: seq<Step>, i: nat, id: nat)
    requires 0 < n
    requires i <= |steps|
    requires id !in Run(n, steps[..i]).pending
    requires id in Run(n, steps).pending && IsQuorum(n, Run(n, steps).pending[id].confirmed)
    ensures |Order(Run(n, steps[..i]))| <= Run(n, steps).pending[id].index
  { }

  // Every answer, to a write or to a read at any replica, is the abstract map's.
  lemma AnswersAreAbstract(n: nat, steps: seq<Step>)
    requires 0 < n
    ensures AnswersAgree(Run(n, steps).history, Order(Run(n, steps)))
  { }

  // What is asked after an answer takes effect after what was answered.
  lemma OrderRespectsRealTime(n: nat, steps: seq<Step>)
    requires 0 < n
    ensures RealTimeIsKept(Run(n, steps).history, Order(Run(n, steps)))
  { }

  // Only writes that were asked for are committed, and each at most once.
  lemma OnlyAskedWritesCommit(n: nat, steps: seq<Step>)
    requires 0 < n
    ensures NothingInvented(Run(n, steps).history, Order(Run(n, steps)))
  { }

  // What clients see of the cluster, through every run, is linearizable.
  lemma HistoryIsLinearizable(n: nat, steps: seq<Step>)
    requires 0 < n
    ensures Linearizable(Run(n, steps).history, Order(Run(n, steps)))
  { }

  // ---- Something happens -------------------------------------------------------------------------------------------

  // The store is not safe by doing nothing: with one of three replicas away, a write is committed, and then read in the
  // next view.
  lemma WritesCanBeRead(write: Write, id: nat)
    requires write.value.Some?
    ensures exists steps ::
      var s := Run(3, steps);
      1 in s.said && ReadDone(id, write.key, write.value, 1) in s.history
  { }
}
