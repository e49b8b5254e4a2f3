// A replicated log that compacts itself: Raft (extended version) §7, Raft dissertation ch. 5.
//
// Entries are counted from 1; index 0 is the place before the first. A snapshot stands for every entry up to its index.
// Every operation is total: one whose guard does not hold leaves the log as it is, as a server that refuses would.

module LogCompactionSpec {

  datatype Option<T> = None | Some(value: T)

  // ---- The state machine -------------------------------------------------------------------------------------------

  datatype Command = Put(key: int, value: int) | Delete(key: int) | NoOp

  datatype Entry = Entry(term: nat, command: Command)

  function Execute(state: map<int, int>, command: Command): map<int, int>
  {
    match command
    case Put(key, value) => state[key := value]
    case Delete(key) => map k | k in state && k != key :: state[k]
    case NoOp => state
  }

  function Replay(state: map<int, int>, entries: seq<Entry>): map<int, int>
    decreases |entries|
  {
    if |entries| == 0 then state
    else Execute(Replay(state, entries[..|entries| - 1]), entries[|entries| - 1].command)
  }

  function Lookup(state: map<int, int>, key: int): Option<int>
  {
    if key in state then Some(state[key]) else None
  }

  // ---- Histories: logs of which nothing was ever dropped -----------------------------------------------------------

  function TermAt(history: seq<Entry>, index: nat): nat
    requires index <= |history|
  {
    if index == 0 then 0 else history[index - 1].term
  }

  function StateAt(history: seq<Entry>, index: nat): map<int, int>
    requires index <= |history|
  {
    Replay(map[], history[..index])
  }

  predicate TermsOrdered(history: seq<Entry>)
  {
    forall i, j | 0 <= i <= j <= |history| :: TermAt(history, i) <= TermAt(history, j)
  }

  // Log Matching (Raft, Fig. 3): entries of the same index and term are preceded by the same entries.
  predicate LogMatching(a: seq<Entry>, b: seq<Entry>)
  {
    forall i | 0 < i <= |a| && i <= |b| && TermAt(a, i) == TermAt(b, i) :: a[..i] == b[..i]
  }

  // ---- Logs --------------------------------------------------------------------------------------------------------

  datatype Snapshot = Snapshot(index: nat, term: nat, state: map<int, int>)

  // entries[0] has index snapshot.index + 1.
  datatype Log = Log(snapshot: Snapshot, entries: seq<Entry>, commit: nat)

  function EmptyLog(): Log
  {
    Log(Snapshot(0, 0, map[]), [], 0)
  }

  function LastIndex(l: Log): nat
  {
    l.snapshot.index + |l.entries|
  }

  predicate Holds(l: Log, index: nat)
  {
    l.snapshot.index <= index <= LastIndex(l)
  }

  function Term(l: Log, index: nat): nat
    requires Holds(l, index)
  {
    if index == l.snapshot.index then l.snapshot.term else l.entries[index - l.snapshot.index - 1].term
  }

  function State(l: Log, index: nat): map<int, int>
    requires Holds(l, index)
  {
    Replay(l.snapshot.state, l.entries[..index - l.snapshot.index])
  }

  // What a client sees: only what is committed is ever read.
  function Read(l: Log, key: int): Option<int>
    requires Holds(l, l.commit)
  {
    Lookup(State(l, l.commit), key)
  }

  function TakeSnapshot(history: seq<Entry>, index: nat): Snapshot
    requires index <= |history|
  {
    Snapshot(index, TermAt(history, index), StateAt(history, index))
  }

  // The log says what the history says, of which it dropped the entries that its snapshot stands for.
  predicate Represents(l: Log, history: seq<Entry>)
  {
    l.snapshot.index <= l.commit <= |history|
    && TermsOrdered(history)
    && l.snapshot == TakeSnapshot(history, l.snapshot.index)
    && l.entries == history[l.snapshot.index..]
  }

  predicate WellFormed(l: Log)
  {
    exists history :: Represents(l, history)
  }

  // ---- Operations of a server on its log ---------------------------------------------------------------------------

  function Append(l: Log, entry: Entry): Log
  {
    if Term(l, LastIndex(l)) <= entry.term then l.(entries := l.entries + [entry]) else l
  }

  function Commit(l: Log, index: nat): Log
  {
    if l.commit < index && index <= LastIndex(l) then l.(commit := index) else l
  }

  // The entries up to `index` give way to a snapshot of the state that they lead to.
  function Compact(l: Log, index: nat): Log
  {
    if Holds(l, index) && index <= l.commit then
      Log(Snapshot(index, Term(l, index), State(l, index)), l.entries[index - l.snapshot.index..], l.commit)
    else l
  }

  // Entries after `index` conflict with what the leader has, and go (AppendEntries, receiver 3).
  function Truncate(l: Log, index: nat): Log
  {
    if Holds(l, index) && l.commit <= index then l.(entries := l.entries[..index - l.snapshot.index]) else l
  }

  // InstallSnapshot (Fig. 13): an old one is ignored (receiver 5); entries that follow it stay (6), others go (7).
  function Install(l: Log, s: Snapshot): Log
  {
    if s.index <= l.commit then l
    else if Holds(l, s.index) && Term(l, s.index) == s.term then
      Log(s, l.entries[s.index - l.snapshot.index..], s.index)
    else Log(s, [], s.index)
  }

  // ---- The disk, and crashes between two writes --------------------------------------------------------------------

  // `base` is the index before the first entry on the disk. The snapshot is a file of its own, and may be ahead of it.
  // The commit index is not kept.
  datatype Disk = Disk(snapshot: Snapshot, base: nat, entries: seq<Entry>)

  function DiskOf(l: Log): Disk
  {
    Disk(l.snapshot, l.snapshot.index, l.entries)
  }

  function WriteSnapshot(d: Disk, s: Snapshot): Disk
  {
    d.(snapshot := s)
  }

  // The entries on the disk that follow its snapshot.
  function Following(d: Disk): seq<Entry>
  {
    if d.snapshot.index == d.base then d.entries
    else if d.base < d.snapshot.index <= d.base + |d.entries|
         && d.entries[d.snapshot.index - d.base - 1].term == d.snapshot.term then
      d.entries[d.snapshot.index - d.base..]
    else []
  }

  function WriteEntries(d: Disk): Disk
  {
    Disk(d.snapshot, d.snapshot.index, Following(d))
  }

  function Recover(d: Disk): Log
  {
    Log(d.snapshot, Following(d), d.snapshot.index)
  }

  // ---- Runs, beside a log that never compacts ----------------------------------------------------------------------

  datatype Step =
    | DoAppend(entry: Entry)
    | DoCommit(index: nat)
    | DoCompact(index: nat)
    | DoTruncate(index: nat)
    | DoInstall(sender: seq<Entry>, index: nat)     // a snapshot of the sender's history up to index

  datatype Plain = Plain(history: seq<Entry>, commit: nat)

  // What the protocol around the log promises (Raft, Fig. 3): a sender's history is a possible one, matches ours (Log
  // Matching), and has what we have committed (Leader Completeness).
  predicate Legal(p: Plain, step: Step)
  {
    step.DoInstall? ==>
      step.index <= |step.sender|
      && TermsOrdered(step.sender)
      && LogMatching(p.history, step.sender)
      && (p.commit <= step.index && p.commit <= |p.history| ==> p.history[..p.commit] == step.sender[..p.commit])
  }

  function Apply(l: Log, step: Step): Log
  {
    match step
    case DoAppend(entry) => Append(l, entry)
    case DoCommit(index) => Commit(l, index)
    case DoCompact(index) => Compact(l, index)
    case DoTruncate(index) => Truncate(l, index)
    case DoInstall(sender, index) => if index <= |sender| then Install(l, TakeSnapshot(sender, index)) else l
  }

  function PlainApply(p: Plain, step: Step): Plain
  {
    match step
    case DoAppend(entry) =>
      if TermAt(p.history, |p.history|) <= entry.term then p.(history := p.history + [entry]) else p
    case DoCommit(index) => if p.commit < index <= |p.history| then p.(commit := index) else p
    case DoCompact(index) => p
    case DoTruncate(index) => if p.commit <= index <= |p.history| then p.(history := p.history[..index]) else p
    case DoInstall(sender, index) =>
      if index <= p.commit || |sender| < index then p
      else if index <= |p.history| && TermAt(p.history, index) == TermAt(sender, index) then p.(commit := index)
      else Plain(sender[..index], index)
  }

  function Run(l: Log, steps: seq<Step>): Log
    decreases |steps|
  {
    if |steps| == 0 then l else Apply(Run(l, steps[..|steps| - 1]), steps[|steps| - 1])
  }

  function PlainRun(p: Plain, steps: seq<Step>): Plain
    decreases |steps|
  {
    if |steps| == 0 then p else PlainApply(PlainRun(p, steps[..|steps| - 1]), steps[|steps| - 1])
  }

  predicate LegalRun(p: Plain, steps: seq<Step>)
  {
    forall i | 0 <= i < |steps| :: Legal(PlainRun(p, steps[..i]), steps[i])
  }
}
