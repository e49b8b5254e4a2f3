// tampered: `free` claims without a proof
module TinyProof {
  import opened TinySpec

  lemma StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Within(c)
    free ensures Within(RaisedOften(c, steps + more))
  { }

  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { }
}
