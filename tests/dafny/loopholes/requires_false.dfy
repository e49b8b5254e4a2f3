// tampered: it asks for more, or promises less
module TinyProof {
  import opened TinySpec

  lemma StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
    requires false
  { }

  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    requires false
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { }
}
