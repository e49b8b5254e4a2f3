// A lock service with leases and fencing tokens: what is to be proved of it.

module DistributedLockProof {
  import opened DistributedLockSpec

  // -- What is asked for --------------------------------------------------------------------------------------------

  // Mutual exclusion: no two clients take the lock for their own at once, however far apart their clocks may be.
  lemma MutualExclusion(cfg: Config, run: seq<Step>, c: Client, d: Client)
    requires Valid(cfg, run)
    requires MayHold(cfg, After(cfg, run), c) && MayHold(cfg, After(cfg, run), d)
    ensures c == d
  {
  }

  // Who may hold the lock has it on the server's disk, so that no crash of the server gives it away.
  lemma HolderIsOnRecord(cfg: Config, run: seq<Step>, c: Client)
    requires Valid(cfg, run)
    requires MayHold(cfg, After(cfg, run), c)
    ensures After(cfg, run).server.disk.lease.Some?
    ensures IsLeaseOf(After(cfg, run).server.disk.lease.value, c, After(cfg, run).clients[c].memory.token)
  {
  }

  // Fencing tokens grow from each lease to the next, across all crashes: no two leases share one.
  lemma TokensIncrease(cfg: Config, run: seq<Step>, i: nat, j: nat)
    requires Valid(cfg, run)
    requires i < j < |After(cfg, run).grants|
    ensures After(cfg, run).grants[i].token < After(cfg, run).grants[j].token
  {
  }

  // Nobody holds the lock under a token that was not granted to it, for the very request for which it holds it.
  lemma NobodyHoldsUngranted(cfg: Config, run: seq<Step>, c: Client, t: Token)
    requires Valid(cfg, run)
    requires Holds(After(cfg, run), c, t)
    ensures exists l :: l in After(cfg, run).grants && IsLeaseOf(l, c, t) &&
      l.request == After(cfg, run).clients[c].memory.request
  {
  }

  // While a client may hold the lock, the server neither grants it, nor lets it expire, nor obeys a late release.
  lemma ServerWaitsForTheHolder(cfg: Config, run: seq<Step>, c: Client, d: Client, r: Request, t: Token)
    requires Valid(cfg, run)
    requires MayHold(cfg, After(cfg, run), c)
    ensures !Enabled(cfg, After(cfg, run), Grant(d, r))
    ensures !Enabled(cfg, After(cfg, run), Expire)
    ensures !Enabled(cfg, After(cfg, run), Free(t))
  {
  }

  // At the storage tokens never decrease: each accepted write carries the token of the one before it, or a higher one.
  lemma AcceptedTokensNeverDecrease(cfg: Config, run: seq<Step>, i: nat, j: nat)
    requires Valid(cfg, run)
    requires i < j < |After(cfg, run).storage.log|
    ensures After(cfg, run).storage.log[i].token <= After(cfg, run).storage.log[j].token
  {
  }

  // Once the storage has accepted a write, no write under an older lease gets through, however late it comes.
  lemma StaleWritesAreRejected(cfg: Config, run: seq<Step>, more: seq<Step>, c: Client, t: Token)
    requires Valid(cfg, run) && Valid(cfg, run + more)
    requires exists w :: w in After(cfg, run).storage.log && t < w.token
    ensures !Enabled(cfg, After(cfg, run + more), Accept(c, t))
  {
  }

  // Every write that the storage accepted was the holder's: its token had been granted to the client that wrote it.
  lemma WritersHadTheLock(cfg: Config, run: seq<Step>, i: nat)
    requires Valid(cfg, run)
    requires i < |After(cfg, run).storage.log|
    ensures exists l :: l in After(cfg, run).grants &&
      IsLeaseOf(l, After(cfg, run).storage.log[i].client, After(cfg, run).storage.log[i].token)
  {
  }

  // Mutual exclusion at the storage, whatever clocks do: no client writes between two writes of another one's lease.
  lemma WritersTakeTurns(cfg: Config, run: seq<Step>, i: nat, j: nat, k: nat)
    requires Valid(cfg, run)
    requires i < j < k < |After(cfg, run).storage.log|
    requires After(cfg, run).storage.log[i].token == After(cfg, run).storage.log[k].token
    ensures After(cfg, run).storage.log[i] == After(cfg, run).storage.log[j] == After(cfg, run).storage.log[k]
  {
  }

  // Whoever may hold the lock is not fenced off: what it writes is accepted.
  lemma HolderIsNotFencedOff(cfg: Config, run: seq<Step>, c: Client)
    requires Valid(cfg, run)
    requires MayHold(cfg, After(cfg, run), c)
    requires Write(c, After(cfg, run).clients[c].memory.token) in After(cfg, run).net
    ensures Enabled(cfg, After(cfg, run), Accept(c, After(cfg, run).clients[c].memory.token))
  {
  }

  // Deadlock freedom: in every reachable state any client can get the lock, though all others and its holder be dead.
  lemma DeadlockFreedom(cfg: Config, run: seq<Step>, c: Client)
    requires Valid(cfg, run) && c in cfg.clients && 0 < cfg.term
    ensures exists more :: AllAlone(c, more) && Valid(cfg, run + more) && SurelyHolds(After(cfg, run + more), c)
  {
  }
}
