// Two-phase commit with presumed abort: what is to be proved of it, and how.

module TwoPhaseCommitProof {
  import opened TwoPhaseCommitSpec

  // -- What is asked for --------------------------------------------------------------------------------------------

  // AC1: no two participants ever decide differently, now or later.
  lemma Agreement(all: set<Node>, run: seq<Step>, more: seq<Step>, p: Node, q: Node, o: Outcome, u: Outcome)
    requires Valid(all, run) && Valid(all, run + more)
    requires HasDecided(After(all, run), p, o) && HasDecided(After(all, run + more), q, u)
    ensures o == u
  {
    DecisionsStay(all, run, more, p, o);
    Reachable(all, run + more);
  }

  // AC2: what a participant has decided stands for ever, whatever crashes, and is never joined by its opposite.
  lemma DecisionsAreIrrevocable(all: set<Node>, run: seq<Step>, more: seq<Step>, p: Node, o: Outcome, u: Outcome)
    requires Valid(all, run) && Valid(all, run + more)
    requires HasDecided(After(all, run), p, o)
    ensures HasDecided(After(all, run + more), p, u) <==> u == o
  {
    DecisionsStay(all, run, more, p, o);
    Reachable(all, run + more);
  }

  // AC3: when anybody takes the transaction for committed, all participants have prepared.
  lemma CommitOnlyIfAllPrepared(all: set<Node>, run: seq<Step>)
    requires Valid(all, run)
    requires SomebodyCommitted(After(all, run))
    ensures forall p :: p in all ==> HasPrepared(After(all, run), p)
  {
    Reachable(all, run);
  }

  // AC4, first half: where nobody crashes, loses patience or refuses, nothing is aborted.
  lemma NoNeedlessAbort(all: set<Node>, run: seq<Step>)
    requires Valid(all, run)
    requires !After(all, run).trouble
    ensures Abort !in After(all, run).told
    ensures forall p :: !HasDecided(After(all, run), p, Abort)
  {
    Reachable(all, run);
  }

  // AC4, second half: as long as nobody has crashed, lost patience or refused, all can still commit.
  lemma CommitStaysPossible(all: set<Node>, run: seq<Step>)
    requires Valid(all, run)
    requires !After(all, run).trouble
    ensures exists more :: AllHarmless(more) && Valid(all, run + more) && AllCommitted(all, After(all, run + more))
  {
    Reachable(all, run);
    var begun := run;
    if !After(all, run).begun {
      begun := Take(all, run, Begin);
    }
    var decided := begun;
    if CollectsVotes(After(all, begun)) {
      decided := GetVotes(all, begun, all);
      decided := Take(all, decided, DecideCommit);
    }
    LeadsOn(all, run, begun, decided);
    var finished := decided;
    if After(all, decided).coordinator.memory.Committing? {
      finished := TellOfCommit(all, decided, all);
    } else {
      Reachable(all, decided);
    }
    LeadsOn(all, run, decided, finished);
    assert run + finished[|run|..] == finished;
  }

  // AC5: from every state that can be reached, a run without further failures leads to where everybody has decided.
  lemma NobodyIsStuck(all: set<Node>, run: seq<Step>)
    requires Valid(all, run)
    ensures exists more :: AllHarmless(more) && Valid(all, run + more) && AllDecided(all, After(all, run + more))
  {
    var end := run;
    if !After(all, end).coordinator.up {
      end := Take(all, end, RecoverCoordinator);
    }
    if CollectsVotes(After(all, end)) {
      end := Take(all, end, LosePatience);
    }
    var finished := DecideAtEach(all, end, all);
    LeadsOn(all, run, end, finished);
    assert run + finished[|run|..] == finished;
  }

  // A yes that is under way binds its voter for ever: it has prepared, and a crash does not undo that.
  lemma YesBinds(all: set<Node>, run: seq<Step>, more: seq<Step>, p: Node)
    requires Valid(all, run) && Valid(all, run + more)
    requires Yes(p) in After(all, run).net
    ensures HasPrepared(After(all, run + more), p)
  {
    Reachable(all, run);
    LogsOnlyGrow(all, run, more);
  }

  // A no that is under way is a veto: nobody has committed, and nobody ever will.
  lemma NoForbidsCommit(all: set<Node>, run: seq<Step>, more: seq<Step>, p: Node)
    requires Valid(all, run) && Valid(all, run + more)
    requires No(p) in After(all, run).net
    ensures !SomebodyCommitted(After(all, run + more))
  {
    Reachable(all, run);
    CommitStaysImpossible(all, run, more);
  }

  // The client is told the truth: no participant ever decides anything else, and it is never told both.
  lemma ClientIsToldTheTruth(all: set<Node>, run: seq<Step>, more: seq<Step>, p: Node, o: Outcome, u: Outcome)
    requires Valid(all, run) && Valid(all, run + more)
    requires o in After(all, run).told
    requires HasDecided(After(all, run + more), p, u) || u in After(all, run + more).told
    ensures o == u
  {
    ToldOnlyGrows(all, run, more);
    Reachable(all, run + more);
  }

  // Whoever runs acts by what its disk says: nobody votes, aborts or presumes out of what a crash has made it forget.
  lemma MemoryFollowsDisk(all: set<Node>, run: seq<Step>)
    requires Valid(all, run)
    ensures forall p :: Runs(After(all, run), p) ==> KnowsItsLog(After(all, run), p)
    ensures After(all, run).coordinator.up ==>
      (After(all, run).coordinator.commitRecord <==> After(all, run).coordinator.memory.Committing?)
  {
    Reachable(all, run);
    forall p | Runs(After(all, run), p) { MemoryTells(all, After(all, run), p); }
  }

  // A coordinator forgets a commit only when it is on the disks of all participants.
  lemma ForgetsOnlyWhatAllKnow(all: set<Node>, run: seq<Step>)
    requires Valid(all, run)
    requires SomebodyCommitted(After(all, run)) && !After(all, run).coordinator.commitRecord
    ensures AllCommitted(all, After(all, run))
  {
    Reachable(all, run);
  }

  // Presuming abort is safe: while "abort" is under way for a transaction that committed, nobody is left to believe it.
  lemma PresumptionIsSafe(all: set<Node>, run: seq<Step>)
    requires Valid(all, run)
    requires SomebodyCommitted(After(all, run)) && Decision(Abort) in After(all, run).net
    ensures AllCommitted(all, After(all, run))
  {
    Reachable(all, run);
  }

  // -- The invariant ------------------------------------------------------------------------------------------------

  predicate Invariant(all: set<Node>, s: State)
  {
    && LogsAreLegal(all, s)
    && CoordinatorKnowsItsDisk(s)
    && NothingBeforeBegin(s)
    && YesMeansPrepared(s)
    && AckMeansCommitted(s)
    && CommitIsJustified(all, s)
    && CommitIsRemembered(all, s)
    && AbortIsJustified(all, s)
    && AbortIsBelievedByNobodyElse(all, s)
    && NoTroubleNoAbort(all, s)
  }

  predicate Legal(log: seq<Record>)
  {
    || log == []
    || log == [Prepared]
    || log == [Decided(Abort)]
    || log == [Prepared, Decided(Commit)]
    || log == [Prepared, Decided(Abort)]
  }

  predicate LogsAreLegal(all: set<Node>, s: State)
  {
    (forall p :: p in s.at <==> p in all) &&
    forall p :: p in s.at ==> Legal(s.at[p].log) && (s.at[p].up ==> s.at[p].memory == Recall(s.at[p].log))
  }

  predicate CoordinatorKnowsItsDisk(s: State)
  {
    s.coordinator.up ==> (s.coordinator.commitRecord <==> s.coordinator.memory.Committing?)
  }

  predicate CollectsVotes(s: State)
  {
    s.coordinator.up && s.coordinator.memory.Voting?
  }

  predicate NothingBeforeBegin(s: State)
  {
    !s.begun ==>
      && !CollectsVotes(s)
      && !s.coordinator.commitRecord
      && s.told == {}
      && Prepare !in s.net
      && (forall p :: !HasPrepared(s, p))
      && (forall p :: Inquire(p) !in s.net)
      && (forall o :: Decision(o) !in s.net)
  }

  predicate YesMeansPrepared(s: State)
  {
    (forall p :: Yes(p) in s.net ==> HasPrepared(s, p)) &&
    (CollectsVotes(s) ==> forall p :: p in s.coordinator.memory.yes ==> HasPrepared(s, p))
  }

  predicate AckMeansCommitted(s: State)
  {
    (forall p :: Ack(p) in s.net ==> HasDecided(s, p, Commit)) &&
    (s.coordinator.up && s.coordinator.memory.Committing? ==>
      forall p :: p in s.coordinator.memory.acks ==> HasDecided(s, p, Commit))
  }

  // Somebody takes the transaction for committed, or will when this message arrives.
  predicate CommitIsKnown(s: State)
  {
    SomebodyCommitted(s) || Decision(Commit) in s.net
  }

  predicate CommitIsJustified(all: set<Node>, s: State)
  {
    CommitIsKnown(s) ==>
      && s.begun
      && !CollectsVotes(s)
      && Commit in s.told
      && (forall p :: p in all ==> HasPrepared(s, p) && !HasDecided(s, p, Abort))
  }

  predicate CommitIsRemembered(all: set<Node>, s: State)
  {
    CommitIsKnown(s) && !s.coordinator.commitRecord ==> AllCommitted(all, s)
  }

  // Never again can this transaction commit: its votes are lost, or somebody will not vote yes.
  predicate Doomed(all: set<Node>, s: State)
  {
    !CommitIsKnown(s) && (
      || (s.begun && !CollectsVotes(s))
      || exists q :: q in s.at && s.at[q].log == [Decided(Abort)])
  }

  predicate AbortIsJustified(all: set<Node>, s: State)
  {
    && (Abort in s.told ==> Doomed(all, s))
    && (forall p :: HasDecided(s, p, Abort) ==> Doomed(all, s))
    && (forall p :: No(p) in s.net ==> Doomed(all, s))
  }

  predicate AbortIsBelievedByNobodyElse(all: set<Node>, s: State)
  {
    Decision(Abort) in s.net ==> Doomed(all, s) || AllCommitted(all, s)
  }

  predicate NoTroubleNoAbort(all: set<Node>, s: State)
  {
    !s.trouble ==>
      && s.coordinator.up
      && Abort !in s.told
      && (forall p :: p in s.at ==> s.at[p].up)
      && (forall p :: !HasDecided(s, p, Abort))
      && (forall p :: No(p) !in s.net)
      && (s.begun && s.coordinator.memory.Quiet? ==> AllCommitted(all, s))
      && (Decision(Abort) in s.net ==> AllCommitted(all, s))
  }

  lemma InvariantHoldsAtFirst(all: set<Node>)
    ensures Invariant(all, Init(all))
  {
  }

  lemma MemoryTells(all: set<Node>, s: State, p: Node)
    requires LogsAreLegal(all, s) && Runs(s, p)
    ensures KnowsItsLog(s, p)
    ensures s.at[p].memory.InDoubt? ==> s.at[p].log == [Prepared]
  {
    var log := s.at[p].log;
    assert log != [] ==> log[|log| - 1] in log;
    assert log == [] || log == [Prepared] || HasDecided(s, p, Commit) || HasDecided(s, p, Abort);
  }

  // Which steps write a record.
  lemma StepWrites(all: set<Node>, s: State, step: Step)
    requires Enabled(all, s, step)
    ensures forall p :: HasPrepared(Apply(all, s, step), p) <==> HasPrepared(s, p) || step == PrepareAt(p)
    ensures forall p, o :: HasDecided(Apply(all, s, step), p, o) <==>
      HasDecided(s, p, o) || step == Learn(p, o) || (step == AbortAlone(p) && o == Abort)
  {
  }

  lemma InvariantIsKept(all: set<Node>, s: State, step: Step)
    requires Invariant(all, s) && Enabled(all, s, step)
    ensures Invariant(all, Apply(all, s, step))
  {
    forall p | Runs(s, p) { MemoryTells(all, s, p); }
    StepWrites(all, s, step);
    if step.Learn? {
      var log := s.at[step.p].log + [Decided(step.o)];
      assert log == if step.o == Commit then [Prepared, Decided(Commit)] else [Prepared, Decided(Abort)];
    }
  }

  lemma DoomIsKept(all: set<Node>, s: State, step: Step)
    requires Invariant(all, s) && Enabled(all, s, step)
    requires Doomed(all, s)
    ensures Doomed(all, Apply(all, s, step))
  {
    forall p | Runs(s, p) { MemoryTells(all, s, p); }
    StepWrites(all, s, step);
    if q :| q in s.at && s.at[q].log == [Decided(Abort)] {
      assert Apply(all, s, step).at[q].log == [Decided(Abort)];
    }
  }

  lemma Reachable(all: set<Node>, run: seq<Step>)
    requires Valid(all, run)
    ensures Invariant(all, After(all, run))
    decreases |run|
  {
    if |run| == 0 {
      InvariantHoldsAtFirst(all);
    } else {
      Reachable(all, AllButLast(run));
      InvariantIsKept(all, After(all, AllButLast(run)), Last(run));
    }
  }

  // -- What holds from one state to later ones ----------------------------------------------------------------------

  lemma LogsOnlyGrow(all: set<Node>, run: seq<Step>, more: seq<Step>)
    requires Valid(all, run) && Valid(all, run + more)
    ensures forall p :: p in After(all, run).at ==>
      p in After(all, run + more).at && After(all, run).at[p].log <= After(all, run + more).at[p].log
    decreases |more|
  {
    if more == [] {
      assert run + more == run;
    } else {
      var fewer := AllButLast(more);
      assert AllButLast(run + more) == run + fewer;
      LogsOnlyGrow(all, run, fewer);
    }
  }

  lemma DecisionsStay(all: set<Node>, run: seq<Step>, more: seq<Step>, p: Node, o: Outcome)
    requires Valid(all, run) && Valid(all, run + more)
    requires HasDecided(After(all, run), p, o)
    ensures HasDecided(After(all, run + more), p, o)
  {
    LogsOnlyGrow(all, run, more);
  }

  lemma ToldOnlyGrows(all: set<Node>, run: seq<Step>, more: seq<Step>)
    requires Valid(all, run) && Valid(all, run + more)
    ensures After(all, run).told <= After(all, run + more).told
    decreases |more|
  {
    if more == [] {
      assert run + more == run;
    } else {
      var fewer := AllButLast(more);
      assert AllButLast(run + more) == run + fewer;
      ToldOnlyGrows(all, run, fewer);
    }
  }

  lemma CommitStaysImpossible(all: set<Node>, run: seq<Step>, more: seq<Step>)
    requires Valid(all, run) && Valid(all, run + more)
    requires Doomed(all, After(all, run))
    ensures Doomed(all, After(all, run + more))
    decreases |more|
  {
    if more == [] {
      assert run + more == run;
    } else {
      var fewer := AllButLast(more);
      assert AllButLast(run + more) == run + fewer;
      CommitStaysImpossible(all, run, fewer);
      Reachable(all, run + fewer);
      DoomIsKept(all, After(all, run + fewer), Last(more));
    }
  }
  // -- What can still be reached ------------------------------------------------------------------------------------

  // `end` goes on where `run` ends, without further failures.
  predicate Leads(all: set<Node>, run: seq<Step>, end: seq<Step>)
  {
    Valid(all, run) && Valid(all, end) && run <= end && AllHarmless(end[|run|..])
  }

  lemma Take(all: set<Node>, run: seq<Step>, step: Step) returns (end: seq<Step>)
    requires Valid(all, run) && Enabled(all, After(all, run), step) && Harmless(step)
    ensures Valid(all, end) && After(all, end) == Apply(all, After(all, run), step)
    ensures Leads(all, run, end)
    ensures forall start :: Leads(all, start, run) ==> Leads(all, start, end)
  {
    end := run + [step];
    assert AllButLast(end) == run;
    forall start | Leads(all, start, run) ensures Leads(all, start, end) {
      assert end[|start|..] == run[|start|..] + [step];
    }
  }

  lemma LeadsOn(all: set<Node>, a: seq<Step>, b: seq<Step>, c: seq<Step>)
    requires Leads(all, a, b) && Leads(all, b, c)
    ensures Leads(all, a, c)
  {
    assert c[|a|..] == b[|a|..] + c[|b|..];
  }

  lemma StillDecided(all: set<Node>, run: seq<Step>, end: seq<Step>)
    requires Leads(all, run, end)
    ensures forall p, o :: HasDecided(After(all, run), p, o) ==> HasDecided(After(all, end), p, o)
  {
    var more := end[|run|..];
    assert run + more == end;
    forall p, o | HasDecided(After(all, run), p, o) ensures HasDecided(After(all, end), p, o) {
      DecisionsStay(all, run, more, p, o);
    }
  }

  // A coordinator that runs and collects no votes answers everybody in doubt; who is not in doubt can abort alone.
  lemma DecideAt(all: set<Node>, run: seq<Step>, p: Node) returns (end: seq<Step>)
    requires Valid(all, run) && p in all
    requires After(all, run).coordinator.up && !After(all, run).coordinator.memory.Voting?
    ensures Leads(all, run, end) && After(all, end).coordinator == After(all, run).coordinator
    ensures exists o :: HasDecided(After(all, end), p, o)
  {
    end := run;
    Reachable(all, end);
    if !After(all, end).at[p].up {
      end := Take(all, end, RecoverParticipant(p));
      Reachable(all, end);
    }
    MemoryTells(all, After(all, end), p);
    match After(all, end).at[p].memory
    case Working =>
      end := Take(all, end, AbortAlone(p));
      assert HasDecided(After(all, end), p, Abort);
    case InDoubt =>
      var o := if After(all, end).coordinator.memory.Committing? then Commit else Abort;
      end := Take(all, end, SendInquiry(p));
      end := Take(all, end, Answer(p));
      end := Take(all, end, Learn(p, o));
      assert HasDecided(After(all, end), p, o);
    case Done(o) =>
  }

  lemma DecideAtEach(all: set<Node>, run: seq<Step>, some: set<Node>) returns (end: seq<Step>)
    requires Valid(all, run) && some <= all
    requires After(all, run).coordinator.up && !After(all, run).coordinator.memory.Voting?
    ensures Leads(all, run, end) && After(all, end).coordinator == After(all, run).coordinator
    ensures AllDecided(some, After(all, end))
    decreases |some|
  {
    end := run;
    if some != {} {
      var p :| p in some;
      var others := some - {p};
      var before := DecideAtEach(all, run, others);
      end := DecideAt(all, before, p);
      LeadsOn(all, run, before, end);
      StillDecided(all, before, end);
      forall q | q in some ensures exists o :: HasDecided(After(all, end), q, o) {
        if q != p {
          assert q in others;
          var o :| HasDecided(After(all, before), q, o);
          assert HasDecided(After(all, end), q, o);
        }
      }
    }
  }

  lemma GetVotes(all: set<Node>, run: seq<Step>, some: set<Node>) returns (end: seq<Step>)
    requires Valid(all, run) && some <= all
    requires CollectsVotes(After(all, run)) && !After(all, run).trouble
    ensures Leads(all, run, end)
    ensures CollectsVotes(After(all, end)) && !After(all, end).trouble
    ensures some <= After(all, end).coordinator.memory.yes
    decreases |some|
  {
    end := run;
    if some != {} {
      var p :| p in some;
      end := GetVotes(all, run, some - {p});
      Reachable(all, end);
      MemoryTells(all, After(all, end), p);
      if After(all, end).at[p].memory.Working? {
        end := Take(all, end, Ask);
        end := Take(all, end, PrepareAt(p));
      }
      end := Take(all, end, SendYes(p));
      end := Take(all, end, CountYes(p));
    }
  }

  lemma TellOfCommit(all: set<Node>, run: seq<Step>, some: set<Node>) returns (end: seq<Step>)
    requires Valid(all, run) && some <= all
    requires After(all, run).coordinator.up && After(all, run).coordinator.memory.Committing?
    requires !After(all, run).trouble
    ensures Leads(all, run, end)
    ensures After(all, end).coordinator == After(all, run).coordinator && !After(all, end).trouble
    ensures AllCommitted(some, After(all, end))
    decreases |some|
  {
    end := run;
    if some != {} {
      var p :| p in some;
      var before := TellOfCommit(all, run, some - {p});
      end := before;
      Reachable(all, end);
      MemoryTells(all, After(all, end), p);
      if After(all, end).at[p].memory.InDoubt? {
        end := Take(all, end, Announce);
        end := Take(all, end, Learn(p, Commit));
        assert HasDecided(After(all, end), p, Commit);
      }
      StillDecided(all, before, end);
    }
  }
}
