// A lock service with leases and fencing tokens: what is to be proved of it, and how.

module DistributedLockProof {
  import opened DistributedLockSpec

  // -- What is asked for --------------------------------------------------------------------------------------------

  // Mutual exclusion: no two clients take the lock for their own at once, however far apart their clocks may be.
  lemma MutualExclusion(cfg: Config, run: seq<Step>, c: Client, d: Client)
    requires Valid(cfg, run)
    requires MayHold(cfg, After(cfg, run), c) && MayHold(cfg, After(cfg, run), d)
    ensures c == d
  {
    Reachable(cfg, run);
  }

  // Who may hold the lock has it on the server's disk, so that no crash of the server gives it away.
  lemma HolderIsOnRecord(cfg: Config, run: seq<Step>, c: Client)
    requires Valid(cfg, run)
    requires MayHold(cfg, After(cfg, run), c)
    ensures After(cfg, run).server.disk.lease.Some?
    ensures IsLeaseOf(After(cfg, run).server.disk.lease.value, c, After(cfg, run).clients[c].memory.token)
  {
    Reachable(cfg, run);
  }

  // Fencing tokens grow from each lease to the next, across all crashes: no two leases share one.
  lemma TokensIncrease(cfg: Config, run: seq<Step>, i: nat, j: nat)
    requires Valid(cfg, run)
    requires i < j < |After(cfg, run).grants|
    ensures After(cfg, run).grants[i].token < After(cfg, run).grants[j].token
  {
    Reachable(cfg, run);
  }

  // Nobody holds the lock under a token that was not granted to it, for the very request for which it holds it.
  lemma NobodyHoldsUngranted(cfg: Config, run: seq<Step>, c: Client, t: Token)
    requires Valid(cfg, run)
    requires Holds(After(cfg, run), c, t)
    ensures exists l :: l in After(cfg, run).grants && IsLeaseOf(l, c, t) &&
      l.request == After(cfg, run).clients[c].memory.request
  {
    Reachable(cfg, run);
    assert After(cfg, run).grants[t - 1] in After(cfg, run).grants;
  }

  // While a client may hold the lock, the server neither grants it, nor lets it expire, nor obeys a late release.
  lemma ServerWaitsForTheHolder(cfg: Config, run: seq<Step>, c: Client, d: Client, r: Request, t: Token)
    requires Valid(cfg, run)
    requires MayHold(cfg, After(cfg, run), c)
    ensures !Enabled(cfg, After(cfg, run), Grant(d, r))
    ensures !Enabled(cfg, After(cfg, run), Expire)
    ensures !Enabled(cfg, After(cfg, run), Free(t))
  {
    Reachable(cfg, run);
  }

  // At the storage tokens never decrease: each accepted write carries the token of the one before it, or a higher one.
  lemma AcceptedTokensNeverDecrease(cfg: Config, run: seq<Step>, i: nat, j: nat)
    requires Valid(cfg, run)
    requires i < j < |After(cfg, run).storage.log|
    ensures After(cfg, run).storage.log[i].token <= After(cfg, run).storage.log[j].token
  {
    Reachable(cfg, run);
  }

  // Once the storage has accepted a write, no write under an older lease gets through, however late it comes.
  lemma StaleWritesAreRejected(cfg: Config, run: seq<Step>, more: seq<Step>, c: Client, t: Token)
    requires Valid(cfg, run) && Valid(cfg, run + more)
    requires exists w :: w in After(cfg, run).storage.log && t < w.token
    ensures !Enabled(cfg, After(cfg, run + more), Accept(c, t))
  {
    FenceOnlyRises(cfg, run, more);
    Reachable(cfg, run);
  }

  // Every write that the storage accepted was the holder's: its token had been granted to the client that wrote it.
  lemma WritersHadTheLock(cfg: Config, run: seq<Step>, i: nat)
    requires Valid(cfg, run)
    requires i < |After(cfg, run).storage.log|
    ensures exists l :: l in After(cfg, run).grants &&
      IsLeaseOf(l, After(cfg, run).storage.log[i].client, After(cfg, run).storage.log[i].token)
  {
    Reachable(cfg, run);
    var s := After(cfg, run);
    assert s.grants[s.storage.log[i].token - 1] in s.grants;
  }

  // Mutual exclusion at the storage, whatever clocks do: no client writes between two writes of another one's lease.
  lemma WritersTakeTurns(cfg: Config, run: seq<Step>, i: nat, j: nat, k: nat)
    requires Valid(cfg, run)
    requires i < j < k < |After(cfg, run).storage.log|
    requires After(cfg, run).storage.log[i].token == After(cfg, run).storage.log[k].token
    ensures After(cfg, run).storage.log[i] == After(cfg, run).storage.log[j] == After(cfg, run).storage.log[k]
  {
    Reachable(cfg, run);
  }

  // Whoever may hold the lock is not fenced off: what it writes is accepted.
  lemma HolderIsNotFencedOff(cfg: Config, run: seq<Step>, c: Client)
    requires Valid(cfg, run)
    requires MayHold(cfg, After(cfg, run), c)
    requires Write(c, After(cfg, run).clients[c].memory.token) in After(cfg, run).net
    ensures Enabled(cfg, After(cfg, run), Accept(c, After(cfg, run).clients[c].memory.token))
  {
    Reachable(cfg, run);
  }

  // Deadlock freedom: in every reachable state any client can get the lock, though all others and its holder be dead.
  lemma DeadlockFreedom(cfg: Config, run: seq<Step>, c: Client)
    requires Valid(cfg, run) && c in cfg.clients && 0 < cfg.term
    ensures exists more :: AllAlone(c, more) && Valid(cfg, run + more) && SurelyHolds(After(cfg, run + more), c)
  {
    var freed := FreeTheLock(cfg, run, c);
    var idle := ComeToRest(cfg, freed, c);
    LeadsOn(cfg, run, freed, idle, c);
    var held := GetTheLock(cfg, idle, c);
    LeadsOn(cfg, run, idle, held, c);
    assert run + held[|run|..] == held;
  }

  // -- The invariant ------------------------------------------------------------------------------------------------

  predicate Invariant(cfg: Config, s: State)
  {
    && ClientsAreKnown(cfg, s)
    && ServerKnowsItsDisk(s)
    && GrantsAreNumbered(s)
    && LeaseIsTheLastGrant(s)
    && RequestsWereMade(s)
    && GrantsOnTheWayWereMade(s)
    && HoldersWereGranted(s)
    && WritersWereGranted(s)
    && ReleasedIsNotWanted(s)
    && WantedIsOnRecord(cfg, s)
    && HeldIsOnRecord(cfg, s)
    && StorageIsFenced(s)
  }

  predicate ClientsAreKnown(cfg: Config, s: State)
  {
    forall c :: c in s.clients <==> c in cfg.clients
  }

  predicate ServerKnowsItsDisk(s: State)
  {
    s.server.up ==> s.server.memory == s.server.disk
  }

  predicate GrantsAreNumbered(s: State)
  {
    s.server.disk.next == |s.grants| + 1 && forall i :: 0 <= i < |s.grants| ==> s.grants[i].token == i + 1
  }

  // This lease was granted. (It may have been prolonged since.)
  predicate WasGranted(s: State, c: Client, r: Request, t: Token)
  {
    0 < t <= |s.grants| && s.grants[t - 1].client == c && s.grants[t - 1].request == r
  }

  predicate LeaseIsTheLastGrant(s: State)
  {
    s.server.disk.lease.Some? ==>
      var l := s.server.disk.lease.value;
      WasGranted(s, l.client, l.request, l.token) && l.token == |s.grants|
  }

  predicate WasMade(s: State, c: Client, r: Request)
  {
    c in s.clients && r <= s.clients[c].requests
  }

  predicate RequestsWereMade(s: State)
  {
    && (forall c, r :: Acquire(c, r) in s.net ==> WasMade(s, c, r))
    && (forall i :: 0 <= i < |s.grants| ==> WasMade(s, s.grants[i].client, s.grants[i].request))
    && (forall c, r :: Waits(s, c, r) ==> WasMade(s, c, r))
  }

  predicate GrantsOnTheWayWereMade(s: State)
  {
    forall l :: Granted(l) in s.net ==> WasGranted(s, l.client, l.request, l.token)
  }

  predicate HoldersWereGranted(s: State)
  {
    && (forall c :: Runs(s, c) && s.clients[c].memory.Holding? ==>
        WasGranted(s, c, s.clients[c].memory.request, s.clients[c].memory.token))
    && (forall t: Token :: Renew(t) in s.net ==> 0 < t <= |s.grants|)
    && (forall t: Token :: Release(t) in s.net ==> 0 < t <= |s.grants|)
  }

  predicate WritersWereGranted(s: State)
  {
    && (forall c, t: Token :: Write(c, t) in s.net ==> 0 < t <= |s.grants| && s.grants[t - 1].client == c)
    && (forall i :: 0 <= i < |s.storage.log| ==>
        var w := s.storage.log[i];
        0 < w.token <= |s.grants| && s.grants[w.token - 1].client == w.client)
  }

  // The client still acts on this lease, or would if it were told of it.
  predicate Wants(s: State, c: Client, r: Request, t: Token)
  {
    Waits(s, c, r) || Holds(s, c, t)
  }

  predicate ReleasedIsNotWanted(s: State)
  {
    forall t: Token :: Release(t) in s.net && 0 < t <= |s.grants| ==>
      !Wants(s, s.grants[t - 1].client, s.grants[t - 1].request, t)
  }

  // As long as it may be believed, the server has it on its disk, and for at least as long.
  predicate OnRecord(cfg: Config, s: State, c: Client, t: Token, until: Time)
  {
    s.now < until + cfg.skew ==>
      && s.server.disk.lease.Some?
      && IsLeaseOf(s.server.disk.lease.value, c, t)
      && until <= s.server.disk.lease.value.until
  }

  predicate WantedIsOnRecord(cfg: Config, s: State)
  {
    forall l :: Granted(l) in s.net && Wants(s, l.client, l.request, l.token) ==>
      OnRecord(cfg, s, l.client, l.token, l.until)
  }

  predicate HeldIsOnRecord(cfg: Config, s: State)
  {
    && (forall c :: Runs(s, c) && s.clients[c].memory.Holding? ==>
        OnRecord(cfg, s, c, s.clients[c].memory.token, s.clients[c].memory.until))
    && (s.server.disk.lease.Some? ==> s.server.disk.lease.value.until <= s.now + cfg.term)
  }

  predicate StorageIsFenced(s: State)
  {
    && s.storage.fence <= |s.grants|
    && (forall i :: 0 <= i < |s.storage.log| ==> s.storage.log[i].token <= s.storage.fence)
    && (forall i, j :: 0 <= i < j < |s.storage.log| ==> s.storage.log[i].token <= s.storage.log[j].token)
  }

  lemma InvariantHoldsAtFirst(cfg: Config)
    ensures Invariant(cfg, Init(cfg))
  {
  }

  // What has been granted stays granted, what has been made stays made.
  lemma HistoryStays(cfg: Config, s: State, step: Step)
    requires Invariant(cfg, s) && Enabled(cfg, s, step)
    ensures s.grants <= Apply(cfg, s, step).grants
    ensures forall c, r, t :: WasGranted(s, c, r, t) ==> WasGranted(Apply(cfg, s, step), c, r, t)
    ensures forall c, r :: WasMade(s, c, r) ==> WasMade(Apply(cfg, s, step), c, r)
    ensures forall i :: 0 <= i < |s.grants| ==> Apply(cfg, s, step).grants[i] == s.grants[i]
  {
  }

  lemma InvariantIsKept(cfg: Config, s: State, step: Step)
    requires Invariant(cfg, s) && Enabled(cfg, s, step)
    ensures Invariant(cfg, Apply(cfg, s, step))
  {
    HistoryStays(cfg, s, step);
  }

  lemma Reachable(cfg: Config, run: seq<Step>)
    requires Valid(cfg, run)
    ensures Invariant(cfg, After(cfg, run))
    decreases |run|
  {
    if |run| == 0 {
      InvariantHoldsAtFirst(cfg);
    } else {
      Reachable(cfg, AllButLast(run));
      InvariantIsKept(cfg, After(cfg, AllButLast(run)), Last(run));
    }
  }

  lemma FenceOnlyRises(cfg: Config, run: seq<Step>, more: seq<Step>)
    requires Valid(cfg, run) && Valid(cfg, run + more)
    ensures After(cfg, run).storage.fence <= After(cfg, run + more).storage.fence
    decreases |more|
  {
    if more == [] {
      assert run + more == run;
    } else {
      var fewer := AllButLast(more);
      assert AllButLast(run + more) == run + fewer;
      FenceOnlyRises(cfg, run, fewer);
    }
  }

  // -- What can still be reached ------------------------------------------------------------------------------------

  // `end` goes on where `run` ends, with steps of this client, the server and time alone.
  predicate Leads(cfg: Config, run: seq<Step>, end: seq<Step>, c: Client)
  {
    Valid(cfg, run) && Valid(cfg, end) && run <= end && AllAlone(c, end[|run|..])
  }

  lemma Take(cfg: Config, run: seq<Step>, c: Client, step: Step) returns (end: seq<Step>)
    requires Valid(cfg, run) && Enabled(cfg, After(cfg, run), step) && Alone(c, step)
    ensures Valid(cfg, end) && After(cfg, end) == Apply(cfg, After(cfg, run), step)
    ensures Leads(cfg, run, end, c)
    ensures forall start :: Leads(cfg, start, run, c) ==> Leads(cfg, start, end, c)
  {
    end := run + [step];
    assert AllButLast(end) == run;
    forall start | Leads(cfg, start, run, c) ensures Leads(cfg, start, end, c) {
      assert end[|start|..] == run[|start|..] + [step];
    }
  }

  lemma LeadsOn(cfg: Config, a: seq<Step>, b: seq<Step>, d: seq<Step>, c: Client)
    requires Leads(cfg, a, b, c) && Leads(cfg, b, d, c)
    ensures Leads(cfg, a, d, c)
  {
    assert d[|a|..] == b[|a|..] + d[|b|..];
  }

  lemma Wait(cfg: Config, run: seq<Step>, c: Client, till: Time) returns (end: seq<Step>)
    requires Valid(cfg, run)
    ensures Leads(cfg, run, end, c)
    ensures till <= After(cfg, end).now
    ensures After(cfg, end) == After(cfg, run).(now := After(cfg, end).now)
    decreases till - After(cfg, run).now
  {
    end := run;
    if After(cfg, run).now < till {
      var next := Take(cfg, run, c, Tick);
      end := Wait(cfg, next, c, till);
      LeadsOn(cfg, run, next, end, c);
    }
  }

  // The lease of a holder that is never heard of again runs out.
  lemma FreeTheLock(cfg: Config, run: seq<Step>, c: Client) returns (end: seq<Step>)
    requires Valid(cfg, run)
    ensures Leads(cfg, run, end, c)
    ensures After(cfg, end).server.up && After(cfg, end).server.memory.lease.None?
  {
    end := run;
    if !After(cfg, run).server.up {
      end := Take(cfg, run, c, RecoverServer);
    }
    if After(cfg, end).server.memory.lease.Some? {
      var later := Wait(cfg, end, c, After(cfg, end).server.memory.lease.value.until + cfg.skew);
      LeadsOn(cfg, run, end, later, c);
      end := Take(cfg, later, c, Expire);
    }
  }

  lemma ComeToRest(cfg: Config, run: seq<Step>, c: Client) returns (end: seq<Step>)
    requires Valid(cfg, run) && c in cfg.clients
    ensures Leads(cfg, run, end, c)
    ensures After(cfg, end).server == After(cfg, run).server
    ensures Runs(After(cfg, end), c) && After(cfg, end).clients[c].memory.Idle?
  {
    Reachable(cfg, run);
    end := run;
    if !Runs(After(cfg, run), c) {
      end := Take(cfg, run, c, RecoverClient(c));
    } else if After(cfg, run).clients[c].memory.Waiting? {
      end := Take(cfg, run, c, GiveUp(c));
    } else if After(cfg, run).clients[c].memory.Holding? {
      end := Take(cfg, run, c, LetGo(c));
    }
  }
  lemma GetTheLock(cfg: Config, run: seq<Step>, c: Client) returns (end: seq<Step>)
    requires Valid(cfg, run) && 0 < cfg.term
    requires After(cfg, run).server.up && After(cfg, run).server.memory.lease.None?
    requires Runs(After(cfg, run), c) && After(cfg, run).clients[c].memory.Idle?
    ensures Leads(cfg, run, end, c)
    ensures SurelyHolds(After(cfg, end), c)
  {
    end := Take(cfg, run, c, Ask(c));
    end := Take(cfg, end, c, SendAcquire(c));
    end := Take(cfg, end, c, Grant(c, After(cfg, end).clients[c].memory.request));
    end := Take(cfg, end, c, TakeGrant(c, After(cfg, end).server.memory.lease.value));
  }
}
