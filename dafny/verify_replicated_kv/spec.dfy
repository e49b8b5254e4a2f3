// A replicated key-value store: replicas with logs and commit points, view changes, and reads at any replica.
//
// Writes are replicated as in Viewstamped Replication (Liskov and Cowling, 2012, §4), reads are confirmed by a quorum
// as by ReadIndex (Raft dissertation, §6.4). What a client sees must be linearizable (Herlihy and Wing, 1990).
//
// Messages are lost, late, repeated and out of order: whatever was said once may be heard at any later time, or never.
// Every step is total: one whose guard does not hold changes nothing. What a replica keeps is on its disk, so that a
// crash is a pause.

module ReplicatedKvSpec {

  datatype Option<T> = None | Some(value: T)

  // ---- The abstract map: one copy, one write after another ---------------------------------------------------------

  datatype Write = Write(id: nat, key: int, value: Option<int>)     // None deletes

  function Execute(m: map<int, int>, write: Write): map<int, int>
  {
    match write.value
    case Some(value) => m[write.key := value]
    case None => map k | k in m && k != write.key :: m[k]
  }

  function Replay(m: map<int, int>, writes: seq<Write>): map<int, int>
    decreases |writes|
  {
    if |writes| == 0 then m else Execute(Replay(m, writes[..|writes| - 1]), writes[|writes| - 1])
  }

  function MapOf(writes: seq<Write>): map<int, int>
  {
    Replay(map[], writes)
  }

  function Lookup(m: map<int, int>, key: int): Option<int>
  {
    if key in m then Some(m[key]) else None
  }

  // ---- What clients see --------------------------------------------------------------------------------------------

  // A revision counts the writes that an answer comes after: a write's includes the write itself.
  datatype Event =
    | WriteAsked(write: Write)
    | WriteDone(id: nat, revision: nat)
    | ReadAsked(id: nat, key: int)
    | ReadDone(id: nat, key: int, value: Option<int>, revision: nat)

  predicate Done(event: Event)
  {
    event.WriteDone? || event.ReadDone?
  }

  predicate HasId(writes: seq<Write>, id: nat)
  {
    exists i :: 0 <= i < |writes| && writes[i].id == id
  }

  predicate Asked(history: seq<Event>, write: Write)
  {
    exists i :: 0 <= i < |history| && history[i] == WriteAsked(write)
  }

  // Every answer is the one that the abstract map gives when the writes take effect in this order.
  predicate AnswersAgree(history: seq<Event>, order: seq<Write>)
  {
    forall i | 0 <= i < |history| && Done(history[i]) ::
      history[i].revision <= |order|
      && match history[i]
         case WriteDone(id, revision) => 0 < revision && order[revision - 1].id == id
         case ReadDone(id, key, value, revision) => value == Lookup(MapOf(order[..revision]), key)
         case WriteAsked(write) => true
         case ReadAsked(id, key) => true
  }

  // What is asked after an answer takes effect after it: a write comes later in the order, a read sees no less.
  predicate RealTimeIsKept(history: seq<Event>, order: seq<Write>)
  {
    forall i, j | 0 <= i < j < |history| && Done(history[i]) && history[i].revision <= |order| ::
      match history[j]
      case WriteAsked(write) => !HasId(order[..history[i].revision], write.id)
      case ReadAsked(id, key) =>
        forall k | j < k < |history| && history[k].ReadDone? && history[k].id == id ::
          history[i].revision <= history[k].revision
      case WriteDone(id, revision) => true
      case ReadDone(id, key, value, revision) => true
  }

  // No write takes effect that nobody asked for, and none twice.
  predicate NothingInvented(history: seq<Event>, order: seq<Write>)
  {
    (forall i | 0 <= i < |order| :: Asked(history, order[i]))
    && (forall i, j | 0 <= i < j < |order| :: order[i].id != order[j].id)
  }

  // Revisions say where the answers stand among the writes; reads of one revision are ordered as they were asked.
  predicate Linearizable(history: seq<Event>, order: seq<Write>)
  {
    AnswersAgree(history, order) && RealTimeIsKept(history, order) && NothingInvented(history, order)
  }

  // ---- The cluster -------------------------------------------------------------------------------------------------

  // What a replica tells the primary of a new view: the view that its log is from, and the log.
  datatype Vote = Vote(normal: nat, log: seq<Write>)

  datatype Replica = Replica(
    view: nat,                  // the newest view that it has promised to follow
    normal: nat,                // the view that its log is from (VR: the last view in which its status was normal)
    log: seq<Write>,
    commit: nat,                // its commit point: how much of the log it knows to be committed
    acked: map<nat, nat>,       // how much it has acknowledged, in each view
    votes: map<nat, Vote>)      // what it has told the primaries of new views

  // Everything that the primary of a view has said: its messages carry what this was at some time.
  datatype Said = Said(start: nat, log: seq<Write>, commit: nat)    // start: the length of the log that it began with

  // A read that a primary has begun: it may be answered from index on, once a quorum knew no newer view.
  datatype Read = Read(key: int, view: nat, index: nat, confirmed: set<nat>)

  datatype Cluster = Cluster(replicas: seq<Replica>, said: map<nat, Said>, pending: map<nat, Read>, history: seq<Event>)

  predicate IsQuorum(n: nat, q: set<nat>)
  {
    (forall r | r in q :: r < n) && n < 2 * |q|
  }

  function Committed(r: Replica): seq<Write>
  {
    if r.commit <= |r.log| then r.log[..r.commit] else r.log
  }

  // The abstraction: the order of the writes is what the replica with the furthest commit point has committed.
  function Furthest(replicas: seq<Replica>): seq<Write>
  {
    if |replicas| == 0 then [] else
      var rest := Furthest(replicas[..|replicas| - 1]);
      var last := Committed(replicas[|replicas| - 1]);
      if |rest| < |last| then last else rest
  }

  function Order(s: Cluster): seq<Write>
  {
    Furthest(s.replicas)
  }

  function Acked(r: Replica, view: nat): nat
  {
    if view in r.acked then r.acked[view] else 0
  }

  // The primary of a view is the replica that its number says (VR §4), once it has begun it.
  predicate IsPrimary(s: Cluster, r: nat)
  {
    r < |s.replicas|
    && s.replicas[r].view % |s.replicas| == r
    && s.replicas[r].normal == s.replicas[r].view
    && s.replicas[r].view in s.said
  }

  predicate NoLessRecent(a: Vote, b: Vote)
  {
    b.normal < a.normal || (b.normal == a.normal && |b.log| <= |a.log|)
  }

  // ---- Steps -------------------------------------------------------------------------------------------------------

  datatype Step =
    | DoSubmit(r: nat, write: Write)
    | DoAccept(r: nat, view: nat, length: nat, commit: nat)
    | DoAdvance(r: nat, length: nat, quorum: set<nat>)
    | DoPromise(r: nat, view: nat)
    | DoLead(r: nat, quorum: set<nat>, best: nat)
    | DoAnswerWrite(r: nat, position: nat)
    | DoBeginRead(r: nat, id: nat, key: int)
    | DoConfirmRead(r: nat, id: nat)
    | DoFinishRead(r: nat, id: nat)

  // A primary takes a write that was never asked for before into its log.
  function Submit(s: Cluster, r: nat, write: Write): Cluster
  {
    if IsPrimary(s, r)
       && (forall i | 0 <= i < |s.history| && s.history[i].WriteAsked? :: s.history[i].write.id != write.id)
    then
      var was := s.replicas[r];
      var log := was.log + [write];
      s.(replicas := s.replicas[r := was.(log := log, acked := was.acked[was.view := |log|])],
         said := s.said[was.view := s.said[was.view].(log := log)],
         history := s.history + [WriteAsked(write)])
    else s
  }

  // A replica hears from the primary of a view: a log of this length, and a commit point. It acknowledges the log.
  function Accept(s: Cluster, r: nat, view: nat, length: nat, commit: nat): Cluster
  {
    if r < |s.replicas| && view in s.said
       && s.said[view].start <= length <= |s.said[view].log| && commit <= s.said[view].commit
       && s.replicas[r].view <= view
       && (s.replicas[r].normal == view ==> |s.replicas[r].log| <= length)
    then
      var was := s.replicas[r];
      var known := if commit <= length then commit else length;
      s.(replicas := s.replicas[r := was.(
        view := view,
        normal := view,
        log := s.said[view].log[..length],
        commit := if was.commit < known then known else was.commit,
        acked := was.acked[view := length])])
    else s
  }

  // A primary commits what a quorum has acknowledged in its view.
  function Advance(s: Cluster, r: nat, length: nat, quorum: set<nat>): Cluster
  {
    if IsPrimary(s, r) && s.replicas[r].commit < length <= |s.replicas[r].log|
       && IsQuorum(|s.replicas|, quorum)
       && (forall q | q in quorum :: length <= Acked(s.replicas[q], s.replicas[r].view))
    then
      var was := s.replicas[r];
      s.(replicas := s.replicas[r := was.(commit := length)],
         said := s.said[was.view := s.said[was.view].(commit := length)])
    else s
  }

  // A replica promises to follow no older view than this one, and tells its primary what it has (VR: DoViewChange).
  function Promise(s: Cluster, r: nat, view: nat): Cluster
  {
    if r < |s.replicas| && s.replicas[r].view < view then
      var was := s.replicas[r];
      s.(replicas := s.replicas[r := was.(view := view, votes := was.votes[view := Vote(was.normal, was.log)])])
    else s
  }

  // A primary begins its view with the most recent log of a quorum (VR: StartView).
  function Lead(s: Cluster, r: nat, quorum: set<nat>, best: nat): Cluster
  {
    if r < |s.replicas| && s.replicas[r].view % |s.replicas| == r
       && s.replicas[r].normal < s.replicas[r].view
       && IsQuorum(|s.replicas|, quorum) && best in quorum
       && (forall q | q in quorum :: s.replicas[r].view in s.replicas[q].votes)
       && (forall q | q in quorum ::
             NoLessRecent(s.replicas[best].votes[s.replicas[r].view], s.replicas[q].votes[s.replicas[r].view]))
    then
      var was := s.replicas[r];
      var log := s.replicas[best].votes[was.view].log;
      s.(replicas := s.replicas[r := was.(normal := was.view, log := log, acked := was.acked[was.view := |log|])],
         said := s.said[was.view := Said(|log|, log, was.commit)])
    else s
  }

  // A client hears that its write has taken effect.
  function AnswerWrite(s: Cluster, r: nat, position: nat): Cluster
  {
    if r < |s.replicas| && position < |Committed(s.replicas[r])| then
      s.(history := s.history + [WriteDone(Committed(s.replicas[r])[position].id, position + 1)])
    else s
  }

  // A primary that knows everything of older views to be committed begins a read.
  function BeginRead(s: Cluster, r: nat, id: nat, key: int): Cluster
  {
    if IsPrimary(s, r) && id !in s.pending
       && s.said[s.replicas[r].view].start <= s.replicas[r].commit
    then
      s.(pending := s.pending[id := Read(key, s.replicas[r].view, s.replicas[r].commit, {})],
         history := s.history + [ReadAsked(id, key)])
    else s
  }

  // A replica that knows no newer view says so.
  function ConfirmRead(s: Cluster, r: nat, id: nat): Cluster
  {
    if r < |s.replicas| && id in s.pending && s.replicas[r].view <= s.pending[id].view then
      s.(pending := s.pending[id := s.pending[id].(confirmed := s.pending[id].confirmed + {r})])
    else s
  }

  // Any replica answers a read that a quorum has confirmed, once its own commit point has come as far.
  function FinishRead(s: Cluster, r: nat, id: nat): Cluster
  {
    if r < |s.replicas| && id in s.pending
       && IsQuorum(|s.replicas|, s.pending[id].confirmed)
       && s.pending[id].index <= s.replicas[r].commit
    then
      var writes := Committed(s.replicas[r]);
      var key := s.pending[id].key;
      s.(history := s.history + [ReadDone(id, key, Lookup(MapOf(writes), key), |writes|)])
    else s
  }

  function Apply(s: Cluster, step: Step): Cluster
  {
    match step
    case DoSubmit(r, write) => Submit(s, r, write)
    case DoAccept(r, view, length, commit) => Accept(s, r, view, length, commit)
    case DoAdvance(r, length, quorum) => Advance(s, r, length, quorum)
    case DoPromise(r, view) => Promise(s, r, view)
    case DoLead(r, quorum, best) => Lead(s, r, quorum, best)
    case DoAnswerWrite(r, position) => AnswerWrite(s, r, position)
    case DoBeginRead(r, id, key) => BeginRead(s, r, id, key)
    case DoConfirmRead(r, id) => ConfirmRead(s, r, id)
    case DoFinishRead(r, id) => FinishRead(s, r, id)
  }

  // ---- Runs --------------------------------------------------------------------------------------------------------

  function Fresh(n: nat): seq<Replica>
  {
    if n == 0 then [] else Fresh(n - 1) + [Replica(0, 0, [], 0, map[0 := 0], map[])]
  }

  function Initial(n: nat): Cluster
  {
    Cluster(Fresh(n), map[0 := Said(0, [], 0)], map[], [])
  }

  // n replicas, after these steps.
  function Run(n: nat, steps: seq<Step>): Cluster
    decreases |steps|
  {
    if |steps| == 0 then Initial(n) else Apply(Run(n, steps[..|steps| - 1]), steps[|steps| - 1])
  }
}
