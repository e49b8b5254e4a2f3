// Prove that compaction is safe. The specification, LogCompactionSpec, is given; the lemmas below are required as they
// are stated. Lemmas, functions and predicates of your own may be added.

module LogCompactionProof {
  import opened LogCompactionSpec

  // ---- Operations keep logs well-formed ----------------------------------------------------------------------------

  // A well-formed log that is appended to still stands for some history, whose terms never decrease.
  lemma AppendPreservesWellFormed(l: Log, entry: Entry)
    requires WellFormed(l)
    ensures WellFormed(Append(l, entry))
  { }

  // A commit index that moves stays between the snapshot and the end of the log.
  lemma CommitPreservesWellFormed(l: Log, index: nat)
    requires WellFormed(l)
    ensures WellFormed(Commit(l, index))
  { }

  // A log that is compacted stands for every history that it stood for before.
  lemma CompactPreservesWellFormed(l: Log, index: nat)
    requires WellFormed(l)
    ensures WellFormed(Compact(l, index))
    ensures forall history :: Represents(l, history) ==> Represents(Compact(l, index), history)
  { }

  // A log whose conflicting end is cut off still stands for some history.
  lemma TruncatePreservesWellFormed(l: Log, index: nat)
    requires WellFormed(l)
    ensures WellFormed(Truncate(l, index))
  { }

  // Whatever history a snapshot was taken of, if it matches the log's, then the log that installs it is well-formed.
  lemma InstallPreservesWellFormed(l: Log, history: seq<Entry>, sender: seq<Entry>, index: nat)
    requires Represents(l, history)
    requires index <= |sender| && TermsOrdered(sender) && LogMatching(history, sender)
    ensures WellFormed(Install(l, TakeSnapshot(sender, index)))
  { }

  // ---- What is committed does not change ---------------------------------------------------------------------------

  // Appending changes neither the commit index nor any state or term up to it, and so no read.
  lemma AppendDoesNotAffectCommitted(l: Log, entry: Entry)
    requires WellFormed(l)
    ensures Append(l, entry).commit == l.commit
    ensures forall i | l.snapshot.index <= i <= l.commit ::
      Holds(l, i) && Holds(Append(l, entry), i)
      && State(Append(l, entry), i) == State(l, i) && Term(Append(l, entry), i) == Term(l, i)
  { }

  // Cutting the log changes neither the commit index nor any state or term up to it, wherever one asks to cut.
  lemma TruncateDoesNotAffectCommitted(l: Log, index: nat)
    requires WellFormed(l)
    ensures Truncate(l, index).commit == l.commit
    ensures forall i | l.snapshot.index <= i <= l.commit ::
      Holds(l, i) && Holds(Truncate(l, index), i)
      && State(Truncate(l, index), i) == State(l, i) && Term(Truncate(l, index), i) == Term(l, i)
  { }

  // Every read has the same answer before and after a compaction.
  lemma CompactPreservesCommittedReads(l: Log, index: nat, key: int)
    requires WellFormed(l)
    ensures Holds(l, l.commit) && Holds(Compact(l, index), Compact(l, index).commit)
    ensures Read(Compact(l, index), key) == Read(l, key)
  { }

  // In every run the commit index only moves up, and never beyond the log.
  lemma CommitIsMonotonic(l: Log, steps: seq<Step>, i: nat, j: nat)
    requires Holds(l, l.commit)
    requires i <= j <= |steps|
    ensures Run(l, steps[..i]).commit <= Run(l, steps[..j]).commit <= LastIndex(Run(l, steps[..j]))
  { }

  // ---- Compaction --------------------------------------------------------------------------------------------------

  // A log drops committed entries only, all of them up to the index, and its snapshot is the state that they lead to.
  lemma CompactOnlyAtCommittedPrefix(l: Log, history: seq<Entry>, index: nat)
    requires Represents(l, history)
    ensures Compact(l, index).snapshot.index <= l.commit
    ensures Compact(l, index).snapshot == TakeSnapshot(history, Compact(l, index).snapshot.index)
    ensures Compact(l, index) != l ==> Compact(l, index).snapshot.index == index
    ensures l.snapshot.index <= index <= l.commit ==> Compact(l, index).snapshot.index == index
  { }

  // Whatever happened to a log since it was compacted, compacting it again, there or below, changes nothing.
  lemma CompactIsIdempotent(l: Log, steps: seq<Step>, index: nat, again: nat)
    requires WellFormed(l)
    requires again <= index && l.snapshot.index <= index <= l.commit
    ensures var after := Run(Compact(l, index), steps);
      Compact(after, again) == after
  { }

  // Compacting in two steps leads to the same log as compacting in one.
  lemma CompactComposes(l: Log, first: nat, second: nat)
    requires WellFormed(l)
    requires l.snapshot.index <= first <= second <= l.commit
    ensures Compact(Compact(l, first), second) == Compact(l, second)
  { }

  // The snapshot and the entries that are left say all that the whole history says from the snapshot on.
  lemma SnapshotPlusSuffixIsTheLog(l: Log, history: seq<Entry>, index: nat)
    requires Represents(l, history)
    requires l.snapshot.index <= index <= |history|
    ensures Holds(l, index)
    ensures State(l, index) == StateAt(history, index)
    ensures Term(l, index) == TermAt(history, index)
  { }

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
  { }

  // A snapshot of what the log has leaves the entries that follow it, and a second one changes nothing.
  lemma InstallKeepsWhatFollows(l: Log, history: seq<Entry>, sender: seq<Entry>, index: nat)
    requires Represents(l, history)
    requires index <= |sender| && index <= |history| && history[..index] == sender[..index]
    ensures var s := TakeSnapshot(sender, index);
      Represents(Install(l, s), history)
      && Install(Install(l, s), s) == Install(l, s)
      && forall i | l.commit <= i && index <= i <= |history| ::
           Holds(Install(l, s), i) && State(Install(l, s), i) == StateAt(history, i)
  { }

  // A server with an empty log that installs a leader's snapshot and appends the entries after it has the leader's log.
  lemma SnapshotAndEntriesCatchUp(leader: Log, steps: seq<Step>)
    requires WellFormed(leader)
    requires |steps| == |leader.entries|
    requires forall i | 0 <= i < |steps| :: steps[i] == DoAppend(leader.entries[i])
    ensures Commit(Run(Install(EmptyLog(), leader.snapshot), steps), leader.commit) == leader
  { }

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
  { }

  // A crash between or after the two writes of an installation leaves a log that has all that was committed.
  lemma CrashDuringInstallLosesNothing(l: Log, history: seq<Entry>, sender: seq<Entry>, index: nat)
    requires Represents(l, history)
    requires l.commit < index <= |sender| && TermsOrdered(sender) && LogMatching(history, sender)
    requires history[..l.commit] == sender[..l.commit]
    ensures var written := WriteSnapshot(DiskOf(l), TakeSnapshot(sender, index));
      Recover(WriteEntries(written)) == Recover(written)
      && Recover(written).commit == index
      && exists now :: Represents(Recover(written), now) && now[..l.commit] == history[..l.commit]
  { }

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
  { }

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
  { }
}
