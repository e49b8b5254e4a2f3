// Two-phase commit with presumed abort: the trusted specification. One transaction, any set of participants.
//
// Book   P. Bernstein, V. Hadzilacos and N. Goodman, "Concurrency Control and Recovery in Database Systems", 1987,
//        chapter 7: AC1 to AC5 are in 7.3, the protocol and its cooperative termination in 7.4.
// Paper  C. Mohan, B. Lindsay and R. Obermarck, "Transaction Management in the R* Distributed Database Management
//        System", ACM TODS 11(4), 1986: presumed abort, acknowledgements, and when a coordinator may forget.
//
// Whatever can happen is a step. A step is enabled or not, and makes one state of another. The reachable states are
// those that runs end in, and a run is any sequence of enabled steps.
//
// Network    A set of messages. Delivery leaves a message there, so that it may come again, as late as you like and in
//            any order; the step Lose takes it away, delivered or not. Whoever needs an answer can send again. What has
//            no receiver in it is for all: some may get it, others never.
// Crashes    Every node may crash between any two steps and recover, as often as you like. What it has in memory is
//            lost; what it has written to its disk stays. A write is durable before the next step of its node; so are
//            records of aborts, which presumed abort need not force.
// Time       None: a node may run out of patience whenever it waits.
//
// Verified with Dafny 2.3.0.

module TwoPhaseCommitSpec {

  type Node = nat

  datatype Outcome = Commit | Abort

  // -- A participant ------------------------------------------------------------------------------------------------

  datatype Record = Prepared | Decided(outcome: Outcome)

  datatype Memory =
    | Working                   // has not voted: may still abort alone
    | InDoubt                   // has voted yes: waits for the decision
    | Done(outcome: Outcome)

  datatype Participant = Participant(
    log: seq<Record>,           // on disk, in the order in which it was written
    up: bool,
    memory: Memory)             // of no meaning while it is down

  // What a participant that recovers remembers: what its log says.
  function Recall(log: seq<Record>): Memory
  {
    if |log| == 0 then Working else
    match log[|log| - 1]
    case Prepared => InDoubt
    case Decided(o) => Done(o)
  }

  // -- The coordinator ----------------------------------------------------------------------------------------------

  datatype Business =
    | Quiet                     // knows nothing of the transaction: not begun, aborted, forgotten, or lost by a crash
    | Voting(yes: set<Node>)    // whose yes has come in
    | Committing(acks: set<Node>)  // who has acknowledged the commit

  datatype Coordinator = Coordinator(
    commitRecord: bool,         // on disk: presumed abort writes no other record, and drops this one when it forgets
    up: bool,
    memory: Business)           // of no meaning while it is down

  // -- The whole ----------------------------------------------------------------------------------------------------

  datatype Message =
    | Prepare
    | Yes(from: Node)
    | No(from: Node)
    | Inquire(from: Node)       // of a participant in doubt, to the coordinator and to its peers
    | Decision(outcome: Outcome)
    | Ack(from: Node)           // the commit is on this participant's disk

  datatype State = State(
    coordinator: Coordinator,
    at: map<Node, Participant>,
    net: set<Message>,
    // History, which no node reads but for `begun`: that a transaction's number is used once is the client's affair.
    begun: bool,
    told: set<Outcome>,         // what the client has been told
    trouble: bool)              // somebody has crashed, lost patience or refused

  datatype Step =
    // of the coordinator
    | Begin
    | Ask
    | CountYes(p: Node)
    | DecideCommit
    | GiveUp(p: Node)
    | LosePatience
    | Announce
    | Answer(p: Node)
    | CountAck(p: Node)
    | Forget
    | CrashCoordinator
    | RecoverCoordinator
    // of a participant
    | PrepareAt(p: Node)
    | SendYes(p: Node)
    | AbortAlone(p: Node)
    | SendNo(p: Node)
    | SendInquiry(p: Node)
    | Learn(p: Node, o: Outcome)
    | AnswerPeer(p: Node, q: Node)
    | SendAck(p: Node)
    | CrashParticipant(p: Node)
    | RecoverParticipant(p: Node)
    // of the network
    | Lose(m: Message)

  predicate Runs(s: State, p: Node)
  {
    p in s.at && s.at[p].up
  }

  predicate Enabled(all: set<Node>, s: State, step: Step)
  {
    var c := s.coordinator;
    match step
    case Begin              => c.up && c.memory.Quiet? && !s.begun
    case Ask                => c.up && c.memory.Voting?
    case CountYes(p)        => c.up && c.memory.Voting? && p in all && Yes(p) in s.net
    case DecideCommit       => c.up && c.memory.Voting? && all <= c.memory.yes
    case GiveUp(p)          => c.up && c.memory.Voting? && No(p) in s.net
    case LosePatience       => c.up && c.memory.Voting?
    case Announce           => c.up && c.memory.Committing?
    case Answer(p)          => c.up && !c.memory.Voting? && Inquire(p) in s.net
    case CountAck(p)        => c.up && c.memory.Committing? && Ack(p) in s.net
    case Forget             => c.up && c.memory.Committing? && all <= c.memory.acks
    case CrashCoordinator   => c.up
    case RecoverCoordinator => !c.up

    case PrepareAt(p)       => Runs(s, p) && s.at[p].memory.Working? && Prepare in s.net
    case SendYes(p)         => Runs(s, p) && s.at[p].memory.InDoubt?
    case AbortAlone(p)      => Runs(s, p) && s.at[p].memory.Working?
    case SendNo(p)          => Runs(s, p) && s.at[p].memory == Done(Abort)
    case SendInquiry(p)     => Runs(s, p) && s.at[p].memory.InDoubt?
    case Learn(p, o)        => Runs(s, p) && s.at[p].memory.InDoubt? && Decision(o) in s.net
    case AnswerPeer(p, q)   => Runs(s, p) && s.at[p].memory.Done? && Inquire(q) in s.net
    case SendAck(p)         => Runs(s, p) && s.at[p].memory == Done(Commit)
    case CrashParticipant(p)   => Runs(s, p)
    case RecoverParticipant(p) => p in s.at && !s.at[p].up

    case Lose(m)            => m in s.net
  }

  function Apply(all: set<Node>, s: State, step: Step): State
    requires Enabled(all, s, step)
  {
    var c := s.coordinator;
    match step
    case Begin              => Send(s, Prepare).(begun := true, coordinator := c.(memory := Voting({})))
    case Ask                => Send(s, Prepare)
    case CountYes(p)        => s.(coordinator := c.(memory := Voting(c.memory.yes + {p})))
    case DecideCommit       => Send(s, Decision(Commit)).(told := s.told + {Commit},
                                 coordinator := c.(commitRecord := true, memory := Committing({})))
    case GiveUp(p)          => Send(s, Decision(Abort)).(told := s.told + {Abort}, coordinator := c.(memory := Quiet))
    case LosePatience       => Send(s, Decision(Abort)).(told := s.told + {Abort}, coordinator := c.(memory := Quiet),
                                 trouble := true)
    case Announce           => Send(s, Decision(Commit))
    // Presumed abort: whom the coordinator knows nothing of, it takes for aborted.
    case Answer(p)          => Send(s, Decision(if c.memory.Committing? then Commit else Abort))
    case CountAck(p)        => s.(coordinator := c.(memory := Committing(c.memory.acks + {p})))
    case Forget             => s.(coordinator := c.(commitRecord := false, memory := Quiet))
    case CrashCoordinator   => s.(coordinator := c.(up := false), trouble := true)
    case RecoverCoordinator => s.(coordinator := c.(up := true,
                                 memory := if c.commitRecord then Committing({}) else Quiet))

    case PrepareAt(p)       => Write(s, p, Prepared)
    case SendYes(p)         => Send(s, Yes(p))
    case AbortAlone(p)      => Write(s, p, Decided(Abort)).(trouble := true)
    case SendNo(p)          => Send(s, No(p))
    case SendInquiry(p)     => Send(s, Inquire(p))
    case Learn(p, o)        => Write(s, p, Decided(o))
    case AnswerPeer(p, q)   => Send(s, Decision(s.at[p].memory.outcome))
    case SendAck(p)         => Send(s, Ack(p))
    case CrashParticipant(p)   => s.(at := s.at[p := s.at[p].(up := false)], trouble := true)
    case RecoverParticipant(p) => s.(at := s.at[p := s.at[p].(up := true, memory := Recall(s.at[p].log))])

    case Lose(m)            => s.(net := s.net - {m})
  }

  function Send(s: State, m: Message): State
  {
    s.(net := s.net + {m})
  }

  // Participant p writes a record to its disk, and acts by it.
  function Write(s: State, p: Node, r: Record): State
    requires p in s.at
  {
    var log := s.at[p].log + [r];
    s.(at := s.at[p := Participant(log, s.at[p].up, Recall([r]))])
  }

  // -- Runs ---------------------------------------------------------------------------------------------------------

  function Init(all: set<Node>): State
  {
    State(Coordinator(false, true, Quiet), map p | p in all :: Participant([], true, Working), {}, false, {}, false)
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
  predicate Valid(all: set<Node>, run: seq<Step>)
    decreases |run|, 0
  {
    |run| == 0 || (Valid(all, AllButLast(run)) && Enabled(all, After(all, AllButLast(run)), Last(run)))
  }

  // The state that a run ends in.
  function After(all: set<Node>, run: seq<Step>): State
    requires Valid(all, run)
    decreases |run|, 1
  {
    if |run| == 0 then Init(all) else Apply(all, After(all, AllButLast(run)), Last(run))
  }

  // -- What is said of states ---------------------------------------------------------------------------------------

  predicate HasPrepared(s: State, p: Node)
  {
    p in s.at && Prepared in s.at[p].log
  }

  predicate HasDecided(s: State, p: Node, o: Outcome)
  {
    p in s.at && Decided(o) in s.at[p].log
  }

  // What it remembers is what its log says, all of it.
  predicate KnowsItsLog(s: State, p: Node)
    requires p in s.at
  {
    && (s.at[p].memory.Working? <==> s.at[p].log == [])
    && (s.at[p].memory.InDoubt? <==> HasPrepared(s, p) && forall o :: !HasDecided(s, p, o))
    && (forall o :: s.at[p].memory == Done(o) <==> HasDecided(s, p, o))
  }

  // Somebody knows that the transaction is committed.
  predicate SomebodyCommitted(s: State)
  {
    Commit in s.told || s.coordinator.commitRecord || exists p :: HasDecided(s, p, Commit)
  }

  predicate AllCommitted(all: set<Node>, s: State)
  {
    forall p :: p in all ==> HasDecided(s, p, Commit)
  }

  predicate AllDecided(all: set<Node>, s: State)
  {
    forall p :: p in all ==> exists o :: HasDecided(s, p, o)
  }

  // A step that can happen without a new failure: nobody crashes, and no message is lost.
  predicate Harmless(step: Step)
  {
    !step.CrashCoordinator? && !step.CrashParticipant? && !step.Lose?
  }

  predicate AllHarmless(steps: seq<Step>)
  {
    forall i :: 0 <= i < |steps| ==> Harmless(steps[i])
  }
}
