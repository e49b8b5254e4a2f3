// Prove that a counter keeps within its limit, however often it is raised.

module TinyProof {
  import opened TinySpec

  // It keeps within its limit.
  lemma {:induction false} StaysWithin(c: Counter, steps: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps))
  { }

  // Raising it by one list of steps and then by another is to raise it by both.
  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { }
}
