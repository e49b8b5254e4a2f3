// Prove that a counter keeps within its limit, however often it is raised.

module TinyProof {
  import opened TinySpec

  // It keeps within its limit, whatever it is raised by.
  lemma StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
  { }

  // Raising it by one list of steps and then by another is to raise it by both.
  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { }
}
