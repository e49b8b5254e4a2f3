// Two-phase commit with presumed abort: what is to be proved of it.

module TwoPhaseCommitProof {
  import opened TwoPhaseCommitSpec

  // -- What is asked for --------------------------------------------------------------------------------------------

  // AC1: no two participants ever decide differently, now or later.
  lemma Agreement(all: set<Node>, run: seq<Step>, more: seq<Step>, p: Node, q: Node, o: Outcome, u: Outcome)
    requires Valid(all, run) && Valid(all, run + more)
    requires HasDecided(After(all, run), p, o) && HasDecided(After(all, run + more), q, u)
    ensures o == u
  {
  }

  // AC2: what a participant has decided stands for ever, whatever crashes, and is never joined by its opposite.
  lemma DecisionsAreIrrevocable(all: set<Node>, run: seq<Step>, more: seq<Step>, p: Node, o: Outcome, u: Outcome)
    requires Valid(all, run) && Valid(all, run + more)
    requires HasDecided(After(all, run), p, o)
    ensures HasDecided(After(all, run + more), p, u) <==> u == o
  {
  }

  // AC3: when anybody takes the transaction for committed, all participants have prepared.
  lemma CommitOnlyIfAllPrepared(all: set<Node>, run: seq<Step>)
    requires Valid(all, run)
    requires SomebodyCommitted(After(all, run))
    ensures forall p :: p in all ==> HasPrepared(After(all, run), p)
  {
  }

  // AC4, first half: where nobody crashes, loses patience or refuses, nothing is aborted.
  lemma NoNeedlessAbort(all: set<Node>, run: seq<Step>)
    requires Valid(all, run)
    requires !After(all, run).trouble
    ensures Abort !in After(all, run).told
    ensures forall p :: !HasDecided(After(all, run), p, Abort)
  {
  }

  // AC4, second half: as long as nobody has crashed, lost patience or refused, all can still commit.
  lemma CommitStaysPossible(all: set<Node>, run: seq<Step>)
    requires Valid(all, run)
    requires !After(all, run).trouble
    ensures exists more :: AllHarmless(more) && Valid(all, run + more) && AllCommitted(all, After(all, run + more))
  {
  }

  // AC5: from every state that can be reached, a run without further failures leads to where everybody has decided.
  lemma NobodyIsStuck(all: set<Node>, run: seq<Step>)
    requires Valid(all, run)
    ensures exists more :: AllHarmless(more) && Valid(all, run + more) && AllDecided(all, After(all, run + more))
  {
  }

  // A yes that is under way binds its voter for ever: it has prepared, and a crash does not undo that.
  lemma YesBinds(all: set<Node>, run: seq<Step>, more: seq<Step>, p: Node)
    requires Valid(all, run) && Valid(all, run + more)
    requires Yes(p) in After(all, run).net
    ensures HasPrepared(After(all, run + more), p)
  {
  }

  // A no that is under way is a veto: nobody has committed, and nobody ever will.
  lemma NoForbidsCommit(all: set<Node>, run: seq<Step>, more: seq<Step>, p: Node)
    requires Valid(all, run) && Valid(all, run + more)
    requires No(p) in After(all, run).net
    ensures !SomebodyCommitted(After(all, run + more))
  {
  }

  // The client is told the truth: no participant ever decides anything else, and it is never told both.
  lemma ClientIsToldTheTruth(all: set<Node>, run: seq<Step>, more: seq<Step>, p: Node, o: Outcome, u: Outcome)
    requires Valid(all, run) && Valid(all, run + more)
    requires o in After(all, run).told
    requires HasDecided(After(all, run + more), p, u) || u in After(all, run + more).told
    ensures o == u
  {
  }

  // Whoever runs acts by what its disk says: nobody votes, aborts or presumes out of what a crash has made it forget.
  lemma MemoryFollowsDisk(all: set<Node>, run: seq<Step>)
    requires Valid(all, run)
    ensures forall p :: Runs(After(all, run), p) ==> KnowsItsLog(After(all, run), p)
    ensures After(all, run).coordinator.up ==>
      (After(all, run).coordinator.commitRecord <==> After(all, run).coordinator.memory.Committing?)
  {
  }

  // A coordinator forgets a commit only when it is on the disks of all participants.
  lemma ForgetsOnlyWhatAllKnow(all: set<Node>, run: seq<Step>)
    requires Valid(all, run)
    requires SomebodyCommitted(After(all, run)) && !After(all, run).coordinator.commitRecord
    ensures AllCommitted(all, After(all, run))
  {
  }

  // Presuming abort is safe: while "abort" is under way for a transaction that committed, nobody is left to believe it.
  lemma PresumptionIsSafe(all: set<Node>, run: seq<Step>)
    requires Valid(all, run)
    requires SomebodyCommitted(After(all, run)) && Decision(Abort) in After(all, run).net
    ensures AllCommitted(all, After(all, run))
  {
  }
}
