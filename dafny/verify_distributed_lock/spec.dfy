// A lock service with leases and fencing tokens: the trusted specification. One lock, any set of clients, one storage.
//
// Paper  C. Gray and D. Cheriton, "Leases: An Efficient Fault-Tolerant Mechanism for Distributed File Cache
//        Consistency", SOSP 1989: leases, and the allowance for clocks that disagree.
// Paper  M. Burrows, "The Chubby Lock Service for Loosely-Coupled Distributed Systems", OSDI 2006, 2.4: sequencers.
// Note   M. Kleppmann, "How to do distributed locking", 2016: why a lease without a fencing token protects nothing.
//
// Whatever can happen is a step. A step is enabled or not, and makes one state of another. The reachable states are
// those that runs end in, and a run is any sequence of enabled steps.
//
// Network    A set of messages. Delivery leaves a message there, so that it may come again, as late as you like and in
//            any order; the step Lose takes it away, delivered or not. Whoever needs an answer can send again.
// Crashes    The server and every client may crash between any two steps and recover, as often as you like. What is in
//            memory is lost; what was written to disk stays. A write is durable before the next step of its node.
// Time       `now` is the server's clock. A client's clock is never more than `skew` behind it. A client may also sleep
//            at any moment for as long as it likes: it writes without another look at its clock.
//
// Verified with Dafny 2.3.0.

module DistributedLockSpec {

  type Client = nat
  type Request = nat            // a client numbers its requests
  type Token = nat
  type Time = nat

  datatype Config = Config(
    clients: set<Client>,
    term: nat,                  // for how long a lease is granted or renewed
    skew: nat)                  // how far a client's clock may be behind the server's

  datatype Option<T> = None | Some(value: T)

  // -- The server ---------------------------------------------------------------------------------------------------

  datatype Lease = Lease(client: Client, request: Request, token: Token, until: Time)

  datatype Table = Table(
    next: Token,                // the token of the next lease
    lease: Option<Lease>)       // that it has granted and that is not over

  datatype Server = Server(
    disk: Table,
    up: bool,
    memory: Table)              // what it works with; of no meaning while it is down

  // -- A client -----------------------------------------------------------------------------------------------------

  datatype Business =
    | Idle
    | Waiting(request: Request)
    | Holding(request: Request, token: Token, until: Time)

  datatype Peer = Peer(
    requests: nat,              // on disk: how many it has made, so that it never uses a number again
    up: bool,
    memory: Business)           // of no meaning while it is down

  // -- The storage, which the lock protects -------------------------------------------------------------------------

  datatype Written = Written(client: Client, token: Token)

  datatype Storage = Storage(
    fence: Token,               // the highest token seen
    log: seq<Written>)          // the writes that it has accepted, in order

  // -- The whole ----------------------------------------------------------------------------------------------------

  datatype Message =
    | Acquire(client: Client, request: Request)
    | Granted(lease: Lease)
    | Renew(token: Token)
    | Release(token: Token)
    | Write(client: Client, token: Token)

  datatype State = State(
    now: Time,
    server: Server,
    clients: map<Client, Peer>,
    storage: Storage,
    net: set<Message>,
    grants: seq<Lease>)         // history, which no node reads: every lease as it was granted, in order

  datatype Step =
    // of a client
    | Ask(c: Client)
    | SendAcquire(c: Client)
    | TakeGrant(c: Client, l: Lease)
    | SendRenew(c: Client)
    | TakeRenewal(c: Client, l: Lease)
    | SendWrite(c: Client)
    | LetGo(c: Client)
    | GiveUp(c: Client)
    | CrashClient(c: Client)
    | RecoverClient(c: Client)
    // of the server
    | Grant(c: Client, r: Request)
    | GrantAgain(c: Client, r: Request)
    | Prolong(t: Token)
    | Free(t: Token)
    | Expire
    | CrashServer
    | RecoverServer
    // of the storage, the network, the clock
    | Accept(c: Client, t: Token)
    | Lose(m: Message)
    | Tick

  predicate Runs(s: State, c: Client)
  {
    c in s.clients && s.clients[c].up
  }

  predicate Waits(s: State, c: Client, r: Request)
  {
    Runs(s, c) && s.clients[c].memory == Waiting(r)
  }

  predicate Holds(s: State, c: Client, t: Token)
  {
    Runs(s, c) && s.clients[c].memory.Holding? && s.clients[c].memory.token == t
  }

  predicate Enabled(cfg: Config, s: State, step: Step)
  {
    match step
    case Ask(c)             => Runs(s, c) && s.clients[c].memory.Idle?
    case SendAcquire(c)     => Runs(s, c) && s.clients[c].memory.Waiting?
    case TakeGrant(c, l)    => Waits(s, c, l.request) && l.client == c && Granted(l) in s.net
    case SendRenew(c)       => Runs(s, c) && s.clients[c].memory.Holding?
    case TakeRenewal(c, l)  => Holds(s, c, l.token) && Granted(l) in s.net && s.clients[c].memory.until < l.until
    case SendWrite(c)       => Runs(s, c) && s.clients[c].memory.Holding?
    case LetGo(c)           => Runs(s, c) && s.clients[c].memory.Holding?
    case GiveUp(c)          => Runs(s, c) && s.clients[c].memory.Waiting?
    case CrashClient(c)     => Runs(s, c)
    case RecoverClient(c)   => c in s.clients && !s.clients[c].up

    case Grant(c, r)        => s.server.up && Acquire(c, r) in s.net && s.server.memory.lease.None?
    case GrantAgain(c, r)   => s.server.up && Acquire(c, r) in s.net && s.server.memory.lease.Some? &&
                                 s.server.memory.lease.value.client == c && s.server.memory.lease.value.request == r
    case Prolong(t)         => s.server.up && Renew(t) in s.net && s.server.memory.lease.Some? &&
                                 s.server.memory.lease.value.token == t
    case Free(t)            => s.server.up && Release(t) in s.net && s.server.memory.lease.Some? &&
                                 t == s.server.memory.lease.value.token
    case Expire             => s.server.up && s.server.memory.lease.Some? &&
                                 s.server.memory.lease.value.until + cfg.skew <= s.now
    case CrashServer        => s.server.up
    case RecoverServer      => !s.server.up

    case Accept(c, t)       => Write(c, t) in s.net && s.storage.fence <= t
    case Lose(m)            => m in s.net
    case Tick               => true
  }

  function Apply(cfg: Config, s: State, step: Step): State
    requires Enabled(cfg, s, step)
  {
    match step
    case Ask(c)             => var n := s.clients[c].requests + 1;
                               s.(clients := s.clients[c := Peer(n, true, Waiting(n))])
    case SendAcquire(c)     => Send(s, Acquire(c, s.clients[c].memory.request))
    case TakeGrant(c, l)    => Turn(s, c, Holding(l.request, l.token, l.until))
    case SendRenew(c)       => Send(s, Renew(s.clients[c].memory.token))
    case TakeRenewal(c, l)  => Turn(s, c, s.clients[c].memory.(until := l.until))
    case SendWrite(c)       => Send(s, Write(c, s.clients[c].memory.token))
    case LetGo(c)           => Send(Turn(s, c, Idle), Release(s.clients[c].memory.token))
    case GiveUp(c)          => Turn(s, c, Idle)
    case CrashClient(c)     => s.(clients := s.clients[c := s.clients[c].(up := false)])
    case RecoverClient(c)   => s.(clients := s.clients[c := s.clients[c].(up := true, memory := Idle)])

    case Grant(c, r)        => var l := Lease(c, r, s.server.memory.next, s.now + cfg.term);
                               Send(Store(s, Table(l.token + 1, Some(l))), Granted(l)).(grants := s.grants + [l])
    case GrantAgain(c, r)   => Send(s, Granted(s.server.memory.lease.value))
    case Prolong(t)         => var l := s.server.memory.lease.value.(until := s.now + cfg.term);
                               Send(Store(s, s.server.memory.(lease := Some(l))), Granted(l))
    case Free(t)            => Store(s, s.server.memory.(lease := None))
    case Expire             => Store(s, s.server.memory.(lease := None))
    case CrashServer        => s.(server := s.server.(up := false))
    case RecoverServer      => s.(server := Server(s.server.disk, true, s.server.disk))

    case Accept(c, t)       => s.(storage := Storage(t, s.storage.log + [Written(c, t)]))
    case Lose(m)            => s.(net := s.net - {m})
    case Tick               => s.(now := s.now + 1)
  }

  function Send(s: State, m: Message): State
  {
    s.(net := s.net + {m})
  }

  function Turn(s: State, c: Client, b: Business): State
    requires c in s.clients
  {
    s.(clients := s.clients[c := s.clients[c].(memory := b)])
  }

  // The server writes its table to its disk, and works with it.
  function Store(s: State, t: Table): State
  {
    s.(server := s.server.(disk := t, memory := t))
  }

  // -- Runs ---------------------------------------------------------------------------------------------------------

  function Init(cfg: Config): State
  {
    State(0, Server(Table(1, None), true, Table(1, None)), map c | c in cfg.clients :: Peer(0, true, Idle),
      Storage(0, []), {}, [])
  }

  function AllButLast(run: seq<Step>): seq<Step>
    requires |run| > 0
  {
    run[..|run| - 1]
  }

  function Last(run: seq<Step>): Step
    requires |run| > 0
  {
    run[|run| - 1]
  }

  // Every step of the run is enabled where it is taken.
  predicate Valid(cfg: Config, run: seq<Step>)
    decreases |run|, 0
  {
    |run| == 0 || (Valid(cfg, AllButLast(run)) && Enabled(cfg, After(cfg, AllButLast(run)), Last(run)))
  }

  // The state that a run ends in.
  function After(cfg: Config, run: seq<Step>): State
    requires Valid(cfg, run)
    decreases |run|, 1
  {
    if |run| == 0 then Init(cfg) else Apply(cfg, After(cfg, AllButLast(run)), Last(run))
  }

  // -- What is said of states and steps -----------------------------------------------------------------------------

  // By a clock that is as far behind as clocks may be, the client still takes the lock for its own.
  predicate MayHold(cfg: Config, s: State, c: Client)
  {
    Runs(s, c) && s.clients[c].memory.Holding? && s.now < s.clients[c].memory.until + cfg.skew
  }

  // Even by a clock that is right.
  predicate SurelyHolds(s: State, c: Client)
  {
    Runs(s, c) && s.clients[c].memory.Holding? && s.now < s.clients[c].memory.until
  }

  // The lease is the client's, under this token.
  predicate IsLeaseOf(l: Lease, c: Client, t: Token)
  {
    l.client == c && l.token == t
  }

  // A step that this client, the server and time can take without a new failure and without any other client, be it
  // slow or dead for ever.
  predicate Alone(c: Client, step: Step)
  {
    || step.Grant? || step.Expire? || step.RecoverServer? || step.Tick?
    || ((step.Ask? || step.SendAcquire? || step.TakeGrant? || step.LetGo? || step.GiveUp? || step.RecoverClient?) &&
        step.c == c)
  }

  predicate AllAlone(c: Client, steps: seq<Step>)
  {
    forall i :: 0 <= i < |steps| ==> Alone(c, steps[i])
  }
}
