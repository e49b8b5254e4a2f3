// tampered: its parameters are
module TinyProof {
  import opened TinySpec

  type Never = n: nat | false

  lemma StaysWithin(c: Counter, steps: seq<Never>, more: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
  { }

  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { }
}
