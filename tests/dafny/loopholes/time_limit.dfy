// tampered: the attribute {:timeLimit} is not
module TinyProof {
  import opened TinySpec

  lemma {:timeLimit 1} StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
  { }

  lemma {:timeLimitMultiplier 1} Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { }
}
