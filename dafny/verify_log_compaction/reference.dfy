// Prove that compaction is safe. The specification, LogCompactionSpec, is given; the lemmas below are required as they
// are stated. Lemmas, functions and predicates of your own may be added.

module LogCompactionProof {
  import opened LogCompactionSpec

  // ---- Operations keep logs well-formed ----------------------------------------------------------------------------

  // A well-formed log that is appended to still stands for some history, whose terms never decrease.
  lemma AppendPreservesWellFormed(l: Log, entry: Entry)
    requires WellFormed(l)
    ensures WellFormed(Append(l, entry))
  {
    var history :| Represents(l, history);
    if Term(l, LastIndex(l)) <= entry.term {
      assert Represents(Append(l, entry), history + [entry]) by {
        AppendedRepresents(l, history, entry);
      }
    }
  }

  // A commit index that moves stays between the snapshot and the end of the log.
  lemma CommitPreservesWellFormed(l: Log, index: nat)
    requires WellFormed(l)
    ensures WellFormed(Commit(l, index))
  {
    var history :| Represents(l, history);
    assert Represents(Commit(l, index), history);
  }

  // A log that is compacted stands for every history that it stood for before.
  lemma CompactPreservesWellFormed(l: Log, index: nat)
    requires WellFormed(l)
    ensures WellFormed(Compact(l, index))
    ensures forall history :: Represents(l, history) ==> Represents(Compact(l, index), history)
  {
    forall history | Represents(l, history)
      ensures Represents(Compact(l, index), history)
    {
      CompactedRepresents(l, history, index);
    }
    var history :| Represents(l, history);
    assert Represents(Compact(l, index), history);
  }

  // A log whose conflicting end is cut off still stands for some history.
  lemma TruncatePreservesWellFormed(l: Log, index: nat)
    requires WellFormed(l)
    ensures WellFormed(Truncate(l, index))
  {
    var history :| Represents(l, history);
    if Truncate(l, index) != l {
      TruncatedRepresents(l, history, index);
    }
  }

  // Whatever history a snapshot was taken of, if it matches the log's, then the log that installs it is well-formed.
  lemma InstallPreservesWellFormed(l: Log, history: seq<Entry>, sender: seq<Entry>, index: nat)
    requires Represents(l, history)
    requires index <= |sender| && TermsOrdered(sender) && LogMatching(history, sender)
    ensures WellFormed(Install(l, TakeSnapshot(sender, index)))
  {
    InstalledRepresents(l, history, sender, index);
  }

  // ---- What is committed does not change ---------------------------------------------------------------------------

  // Appending changes neither the commit index nor any state or term up to it, and so no read.
  lemma AppendDoesNotAffectCommitted(l: Log, entry: Entry)
    requires WellFormed(l)
    ensures Append(l, entry).commit == l.commit
    ensures forall i | l.snapshot.index <= i <= l.commit ::
      Holds(l, i) && Holds(Append(l, entry), i)
      && State(Append(l, entry), i) == State(l, i) && Term(Append(l, entry), i) == Term(l, i)
  {
    forall i | l.snapshot.index <= i <= l.commit
      ensures Holds(Append(l, entry), i) && State(Append(l, entry), i) == State(l, i)
    {
      var n := i - l.snapshot.index;
      assert (l.entries + [entry])[..n] == l.entries[..n];
    }
  }

  // Cutting the log changes neither the commit index nor any state or term up to it, wherever one asks to cut.
  lemma TruncateDoesNotAffectCommitted(l: Log, index: nat)
    requires WellFormed(l)
    ensures Truncate(l, index).commit == l.commit
    ensures forall i | l.snapshot.index <= i <= l.commit ::
      Holds(l, i) && Holds(Truncate(l, index), i)
      && State(Truncate(l, index), i) == State(l, i) && Term(Truncate(l, index), i) == Term(l, i)
  {
    forall i | l.snapshot.index <= i <= l.commit
      ensures Holds(Truncate(l, index), i) && State(Truncate(l, index), i) == State(l, i)
    {
      var n := i - l.snapshot.index;
      if Truncate(l, index) != l {
        assert l.entries[..index - l.snapshot.index][..n] == l.entries[..n];
      }
    }
  }

  // Every read has the same answer before and after a compaction.
  lemma CompactPreservesCommittedReads(l: Log, index: nat, key: int)
    requires WellFormed(l)
    ensures Holds(l, l.commit) && Holds(Compact(l, index), Compact(l, index).commit)
    ensures Read(Compact(l, index), key) == Read(l, key)
  {
    var history :| Represents(l, history);
    CompactedRepresents(l, history, index);
    RepresentedState(l, history, l.commit);
    RepresentedState(Compact(l, index), history, l.commit);
  }

  // In every run the commit index only moves up, and never beyond the log.
  lemma CommitIsMonotonic(l: Log, steps: seq<Step>, i: nat, j: nat)
    requires Holds(l, l.commit)
    requires i <= j <= |steps|
    ensures Run(l, steps[..i]).commit <= Run(l, steps[..j]).commit <= LastIndex(Run(l, steps[..j]))
  {
    if i == j {
      RunStaysInBounds(l, steps[..j]);
    } else {
      var before := steps[..j - 1];
      CommitIsMonotonic(l, steps, i, j - 1);
      RunStaysInBounds(l, before);
      StepMovesCommitUp(Run(l, before), steps[j - 1]);
      assert steps[..j][..j - 1] == before;
    }
  }

  // ---- Compaction --------------------------------------------------------------------------------------------------

  // A log drops committed entries only, all of them up to the index, and its snapshot is the state that they lead to.
  lemma CompactOnlyAtCommittedPrefix(l: Log, history: seq<Entry>, index: nat)
    requires Represents(l, history)
    ensures Compact(l, index).snapshot.index <= l.commit
    ensures Compact(l, index).snapshot == TakeSnapshot(history, Compact(l, index).snapshot.index)
    ensures Compact(l, index) != l ==> Compact(l, index).snapshot.index == index
    ensures l.snapshot.index <= index <= l.commit ==> Compact(l, index).snapshot.index == index
  {
    CompactedRepresents(l, history, index);
  }

  // Whatever happened to a log since it was compacted, compacting it again, there or below, changes nothing.
  lemma CompactIsIdempotent(l: Log, steps: seq<Step>, index: nat, again: nat)
    requires WellFormed(l)
    requires again <= index && l.snapshot.index <= index <= l.commit
    ensures var after := Run(Compact(l, index), steps);
      Compact(after, again) == after
  {
    RunKeepsSnapshot(Compact(l, index), steps);
  }

  // Compacting in two steps leads to the same log as compacting in one.
  lemma CompactComposes(l: Log, first: nat, second: nat)
    requires WellFormed(l)
    requires l.snapshot.index <= first <= second <= l.commit
    ensures Compact(Compact(l, first), second) == Compact(l, second)
  {
    var history :| Represents(l, history);
    CompactedRepresents(l, history, first);
    CompactedRepresents(l, history, second);
    CompactedRepresents(Compact(l, first), history, second);
  }

  // The snapshot and the entries that are left say all that the whole history says from the snapshot on.
  lemma SnapshotPlusSuffixIsTheLog(l: Log, history: seq<Entry>, index: nat)
    requires Represents(l, history)
    requires l.snapshot.index <= index <= |history|
    ensures Holds(l, index)
    ensures State(l, index) == StateAt(history, index)
    ensures Term(l, index) == TermAt(history, index)
  {
    RepresentedState(l, history, index);
  }

  // ---- Snapshots from another server -------------------------------------------------------------------------------

  // A log that installs a snapshot loses nothing that it has committed, and reads as the history of the snapshot.
  lemma InstallKeepsCommitted(l: Log, history: seq<Entry>, sender: seq<Entry>, index: nat, key: int)
    requires Represents(l, history)
    requires index <= |sender| && TermsOrdered(sender) && LogMatching(history, sender)
    requires l.commit <= index ==> history[..l.commit] == sender[..l.commit]
    ensures var after := Install(l, TakeSnapshot(sender, index));
      after.commit == (if l.commit < index then index else l.commit)
      && Holds(after, after.commit)
      && (l.commit < index ==> Read(after, key) == Lookup(StateAt(sender, index), key))
      && exists now :: Represents(after, now) && l.commit <= |now| && now[..l.commit] == history[..l.commit]
  {
    var after := Install(l, TakeSnapshot(sender, index));
    InstalledRepresents(l, history, sender, index);
    var now := AfterInstall(history, l.commit, sender, index);
    assert Represents(after, now);
    if l.commit < index {
      assert sender[..index][..index] == sender[..index];
      assert now[..index] == sender[..index];
      assert sender[..index][..l.commit] == sender[..l.commit];
      assert now[..index][..l.commit] == now[..l.commit];
      RepresentedState(after, now, index);
    }
  }

  // A snapshot of what the log has leaves the entries that follow it, and a second one changes nothing.
  lemma InstallKeepsWhatFollows(l: Log, history: seq<Entry>, sender: seq<Entry>, index: nat)
    requires Represents(l, history)
    requires index <= |sender| && index <= |history| && history[..index] == sender[..index]
    ensures var s := TakeSnapshot(sender, index);
      Represents(Install(l, s), history)
      && Install(Install(l, s), s) == Install(l, s)
      && forall i | l.commit <= i && index <= i <= |history| ::
           Holds(Install(l, s), i) && State(Install(l, s), i) == StateAt(history, i)
  {
    var s := TakeSnapshot(sender, index);
    assert history[..index][..index] == history[..index];
    if index > 0 {
      assert TermAt(history, index) == history[..index][index - 1].term == sender[..index][index - 1].term;
    }
    forall i | l.commit <= i && index <= i <= |history|
      ensures Holds(Install(l, s), i) && State(Install(l, s), i) == StateAt(history, i)
    {
      RepresentedState(Install(l, s), history, i);
    }
  }

  // A server with an empty log that installs a leader's snapshot and appends the entries after it has the leader's log.
  lemma SnapshotAndEntriesCatchUp(leader: Log, steps: seq<Step>)
    requires WellFormed(leader)
    requires |steps| == |leader.entries|
    requires forall i | 0 <= i < |steps| :: steps[i] == DoAppend(leader.entries[i])
    ensures Commit(Run(Install(EmptyLog(), leader.snapshot), steps), leader.commit) == leader
  {
    var history :| Represents(leader, history);
    var installed := Install(EmptyLog(), leader.snapshot);
    assert installed.snapshot == leader.snapshot && installed.entries == [];
    AppendedOneByOne(leader, history, installed, steps);
    assert leader.entries[..|steps|] == leader.entries;
  }

  // ---- Crashes -----------------------------------------------------------------------------------------------------

  // A crash at any point of a compaction leaves the log as it was or compacted, with the same reads.
  lemma CrashDuringCompactionLosesNothing(l: Log, index: nat, key: int)
    requires WellFormed(l)
    requires l.snapshot.index <= index <= l.commit
    ensures var compacted := Compact(l, index);
      var written := WriteSnapshot(DiskOf(l), compacted.snapshot);
      Commit(Recover(DiskOf(l)), l.commit) == l
      && Commit(Recover(written), l.commit) == compacted
      && Commit(Recover(WriteEntries(written)), l.commit) == compacted
      && Holds(l, l.commit) && Holds(compacted, l.commit) && Read(compacted, key) == Read(l, key)
  {
    CompactPreservesCommittedReads(l, index, key);
  }

  // A crash between or after the two writes of an installation leaves a log that has all that was committed.
  lemma CrashDuringInstallLosesNothing(l: Log, history: seq<Entry>, sender: seq<Entry>, index: nat)
    requires Represents(l, history)
    requires l.commit < index <= |sender| && TermsOrdered(sender) && LogMatching(history, sender)
    requires history[..l.commit] == sender[..l.commit]
    ensures var written := WriteSnapshot(DiskOf(l), TakeSnapshot(sender, index));
      Recover(WriteEntries(written)) == Recover(written)
      && Recover(written).commit == index
      && exists now :: Represents(Recover(written), now) && now[..l.commit] == history[..l.commit]
  {
    var written := WriteSnapshot(DiskOf(l), TakeSnapshot(sender, index));
    assert Recover(written) == Install(l, TakeSnapshot(sender, index));
    InstallKeepsCommitted(l, history, sender, index, 0);
  }

  // ---- Runs --------------------------------------------------------------------------------------------------------

  // Through every run a log that compacts says and reads what a log that never compacts would.
  lemma {:induction false} CompactionIsInvisible(l: Log, history: seq<Entry>, steps: seq<Step>, key: int)
    requires Represents(l, history)
    requires LegalRun(Plain(history, l.commit), steps)
    ensures var after := Run(l, steps);
      var plain := PlainRun(Plain(history, l.commit), steps);
      Represents(after, plain.history)
      && after.commit == plain.commit
      && Holds(after, after.commit)
      && Read(after, key) == Lookup(StateAt(plain.history, plain.commit), key)
  {
    RunRepresents(l, history, steps);
    var plain := PlainRun(Plain(history, l.commit), steps);
    RepresentedState(Run(l, steps), plain.history, plain.commit);
  }

  // What was committed at some time is what the log says of it at any later time, as far as it was not compacted away.
  lemma CommittedNeverChanges(l: Log, history: seq<Entry>, steps: seq<Step>, i: nat, j: nat, index: nat)
    requires Represents(l, history)
    requires LegalRun(Plain(history, l.commit), steps)
    requires i <= j <= |steps|
    requires Run(l, steps[..j]).snapshot.index <= index <= Run(l, steps[..i]).commit
    requires Run(l, steps[..i]).snapshot.index <= index
    ensures Holds(Run(l, steps[..i]), index) && Holds(Run(l, steps[..j]), index)
    ensures State(Run(l, steps[..j]), index) == State(Run(l, steps[..i]), index)
    ensures Term(Run(l, steps[..j]), index) == Term(Run(l, steps[..i]), index)
  {
    var p := Plain(history, l.commit);
    LegalPrefix(p, steps, i);
    LegalPrefix(p, steps, j);
    RunRepresents(l, history, steps[..i]);
    RunRepresents(l, history, steps[..j]);
    PlainCommittedStays(p, steps, i, j);
    var earlier := PlainRun(p, steps[..i]);
    var now := PlainRun(p, steps[..j]);
    RepresentedState(Run(l, steps[..i]), earlier.history, index);
    RepresentedState(Run(l, steps[..j]), now.history, index);
    assert earlier.history[..index] == earlier.history[..earlier.commit][..index];
    assert now.history[..index] == now.history[..earlier.commit][..index];
    if index > 0 {
      assert earlier.history[..index][index - 1] == now.history[..index][index - 1];
    }
  }

  // ---- Lemmas of our own -------------------------------------------------------------------------------------------

  // Replaying one list after another is replaying both.
  lemma {:induction false} ReplayComposes(state: map<int, int>, a: seq<Entry>, b: seq<Entry>)
    ensures Replay(Replay(state, a), b) == Replay(state, a + b)
    decreases |b|
  {
    if |b| == 0 {
      assert a + b == a;
    } else {
      ReplayComposes(state, a, b[..|b| - 1]);
      assert (a + b)[..|a + b| - 1] == a + b[..|b| - 1];
      assert (a + b)[|a + b| - 1] == b[|b| - 1];
    }
  }

  lemma RepresentedState(l: Log, history: seq<Entry>, index: nat)
    requires Represents(l, history)
    requires l.snapshot.index <= index <= |history|
    ensures Holds(l, index)
    ensures State(l, index) == StateAt(history, index)
    ensures Term(l, index) == TermAt(history, index)
  {
    var base := l.snapshot.index;
    ReplayComposes(map[], history[..base], history[base..][..index - base]);
    assert history[..base] + history[base..][..index - base] == history[..index];
  }

  lemma PrefixIsOrdered(history: seq<Entry>, index: nat)
    requires TermsOrdered(history) && index <= |history|
    ensures TermsOrdered(history[..index])
  {
    forall i, j | 0 <= i <= j <= index
      ensures TermAt(history[..index], i) <= TermAt(history[..index], j)
    {
      assert TermAt(history[..index], i) == TermAt(history, i);
      assert TermAt(history[..index], j) == TermAt(history, j);
    }
  }

  lemma LongerIsOrdered(history: seq<Entry>, entry: Entry)
    requires TermsOrdered(history) && TermAt(history, |history|) <= entry.term
    ensures TermsOrdered(history + [entry])
  {
    var longer := history + [entry];
    forall i, j | 0 <= i <= j <= |longer|
      ensures TermAt(longer, i) <= TermAt(longer, j)
    {
      assert i <= |history| ==> TermAt(longer, i) == TermAt(history, i) <= TermAt(history, |history|);
      assert j <= |history| ==> TermAt(longer, j) == TermAt(history, j);
    }
  }

  lemma AppendedRepresents(l: Log, history: seq<Entry>, entry: Entry)
    requires Represents(l, history)
    requires TermAt(history, |history|) <= entry.term
    ensures Represents(Append(l, entry), history + [entry])
  {
    var longer := history + [entry];
    RepresentedState(l, history, |history|);
    LongerIsOrdered(history, entry);
    assert longer[..l.snapshot.index] == history[..l.snapshot.index];
    assert longer[l.snapshot.index..] == history[l.snapshot.index..] + [entry];
  }

  lemma CompactedRepresents(l: Log, history: seq<Entry>, index: nat)
    requires Represents(l, history)
    ensures Represents(Compact(l, index), history)
  {
    if Holds(l, index) {
      RepresentedState(l, history, index);
    }
  }

  lemma TruncatedRepresents(l: Log, history: seq<Entry>, index: nat)
    requires Represents(l, history)
    requires l.commit <= index <= |history|
    ensures Represents(Truncate(l, index), history[..index])
  {
    var base := l.snapshot.index;
    PrefixIsOrdered(history, index);
    assert history[..index][..base] == history[..base];
    assert history[..index][base..] == history[base..][..index - base];
  }

  // The history of a log that installed a snapshot.
  function AfterInstall(history: seq<Entry>, commit: nat, sender: seq<Entry>, index: nat): seq<Entry>
    requires index <= |sender|
  {
    if index <= commit || (index <= |history| && TermAt(history, index) == TermAt(sender, index)) then history
    else sender[..index]
  }

  lemma InstalledRepresents(l: Log, history: seq<Entry>, sender: seq<Entry>, index: nat)
    requires Represents(l, history)
    requires index <= |sender| && TermsOrdered(sender) && LogMatching(history, sender)
    ensures Represents(Install(l, TakeSnapshot(sender, index)), AfterInstall(history, l.commit, sender, index))
    ensures l.commit < index ==> AfterInstall(history, l.commit, sender, index)[..index] == sender[..index]
  {
    if l.commit < index {
      if index <= |history| {
        RepresentedState(l, history, index);
      }
      assert sender[..index][..index] == sender[..index];
      PrefixIsOrdered(sender, index);
    }
  }

  lemma StepMovesCommitUp(l: Log, step: Step)
    requires Holds(l, l.commit)
    ensures l.commit <= Apply(l, step).commit
    ensures Holds(Apply(l, step), Apply(l, step).commit)
  {
  }

  lemma RunStaysInBounds(l: Log, steps: seq<Step>)
    requires Holds(l, l.commit)
    ensures Holds(Run(l, steps), Run(l, steps).commit)
    decreases |steps|
  {
    if |steps| > 0 {
      RunStaysInBounds(l, steps[..|steps| - 1]);
      StepMovesCommitUp(Run(l, steps[..|steps| - 1]), steps[|steps| - 1]);
    }
  }

  lemma RunKeepsSnapshot(l: Log, steps: seq<Step>)
    requires Holds(l, l.commit)
    ensures Holds(Run(l, steps), Run(l, steps).commit)
    ensures l.snapshot.index <= Run(l, steps).snapshot.index
    decreases |steps|
  {
    if |steps| > 0 {
      RunKeepsSnapshot(l, steps[..|steps| - 1]);
      StepMovesCommitUp(Run(l, steps[..|steps| - 1]), steps[|steps| - 1]);
    }
  }

  lemma AppendedOneByOne(leader: Log, history: seq<Entry>, start: Log, steps: seq<Step>)
    requires Represents(leader, history)
    requires start.snapshot == leader.snapshot && start.entries == []
    requires |steps| <= |leader.entries|
    requires forall i | 0 <= i < |steps| :: steps[i] == DoAppend(leader.entries[i])
    ensures Run(start, steps) == Log(leader.snapshot, leader.entries[..|steps|], start.commit)
    decreases |steps|
  {
    if |steps| > 0 {
      var n := |steps| - 1;
      AppendedOneByOne(leader, history, start, steps[..n]);
      RepresentedState(leader, history, leader.snapshot.index + n);
      RepresentedState(leader, history, leader.snapshot.index + n + 1);
      assert leader.entries[..n] + [leader.entries[n]] == leader.entries[..n + 1];
    }
  }

  lemma StepRepresents(l: Log, p: Plain, step: Step)
    requires Represents(l, p.history) && l.commit == p.commit && Legal(p, step)
    ensures Represents(Apply(l, step), PlainApply(p, step).history)
    ensures Apply(l, step).commit == PlainApply(p, step).commit
  {
    RepresentedState(l, p.history, |p.history|);
    match step {
      case DoAppend(entry) =>
        if TermAt(p.history, |p.history|) <= entry.term {
          AppendedRepresents(l, p.history, entry);
        }
      case DoCommit(index) =>
      case DoCompact(index) =>
        CompactedRepresents(l, p.history, index);
      case DoTruncate(index) =>
        if p.commit <= index <= |p.history| {
          TruncatedRepresents(l, p.history, index);
        }
      case DoInstall(sender, index) =>
        InstalledRepresents(l, p.history, sender, index);
        if p.commit < index <= |p.history| {
          RepresentedState(l, p.history, index);
        }
    }
  }

  lemma LegalPrefix(p: Plain, steps: seq<Step>, n: nat)
    requires LegalRun(p, steps) && n <= |steps|
    ensures LegalRun(p, steps[..n])
  {
    forall i | 0 <= i < n
      ensures Legal(PlainRun(p, steps[..n][..i]), steps[..n][i])
    {
      assert steps[..n][..i] == steps[..i];
    }
  }

  lemma RunRepresents(l: Log, history: seq<Entry>, steps: seq<Step>)
    requires Represents(l, history)
    requires LegalRun(Plain(history, l.commit), steps)
    ensures Represents(Run(l, steps), PlainRun(Plain(history, l.commit), steps).history)
    ensures Run(l, steps).commit == PlainRun(Plain(history, l.commit), steps).commit
    decreases |steps|
  {
    if |steps| > 0 {
      var p := Plain(history, l.commit);
      var before := steps[..|steps| - 1];
      LegalPrefix(p, steps, |steps| - 1);
      RunRepresents(l, history, before);
      StepRepresents(Run(l, before), PlainRun(p, before), steps[|steps| - 1]);
    }
  }

  lemma PlainCommittedStays(p: Plain, steps: seq<Step>, i: nat, j: nat)
    requires p.commit <= |p.history|
    requires LegalRun(p, steps)
    requires i <= j <= |steps|
    ensures var earlier := PlainRun(p, steps[..i]);
      var now := PlainRun(p, steps[..j]);
      earlier.commit <= now.commit <= |now.history|
      && earlier.commit <= |earlier.history|
      && earlier.history[..earlier.commit] == now.history[..earlier.commit]
    decreases j
  {
    if j > 0 {
      assert steps[..j][..j - 1] == steps[..j - 1];
      var earlier := PlainRun(p, steps[..if i < j then i else j - 1]);
      var before := PlainRun(p, steps[..j - 1]);
      PlainCommittedStays(p, steps, if i < j then i else j - 1, j - 1);
      PlainStepKeepsCommitted(before, steps[j - 1]);
      var now := PlainRun(p, steps[..j]);
      assert before.history[..before.commit][..earlier.commit] == before.history[..earlier.commit];
      assert now.history[..before.commit][..earlier.commit] == now.history[..earlier.commit];
    }
  }

  lemma PlainStepKeepsCommitted(p: Plain, step: Step)
    requires p.commit <= |p.history| && Legal(p, step)
    ensures p.commit <= PlainApply(p, step).commit <= |PlainApply(p, step).history|
    ensures PlainApply(p, step).history[..p.commit] == p.history[..p.commit]
  {
    match step {
      case DoAppend(entry) =>
      case DoCommit(index) =>
      case DoCompact(index) =>
      case DoTruncate(index) =>
        if p.commit <= index <= |p.history| {
          assert p.history[..index][..p.commit] == p.history[..p.commit];
        }
      case DoInstall(sender, index) =>
        if p.commit < index <= |sender| {
          assert sender[..index][..p.commit] == sender[..p.commit];
        }
    }
  }
}
