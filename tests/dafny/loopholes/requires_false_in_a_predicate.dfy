// tampered: it asks for more, or promises less
module TinyProof {
  import opened TinySpec

  predicate Sane(c: Counter) { c.value > c.limit && Within(c) }

  lemma StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Sane(c)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
  { }

  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    requires Sane(c)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { }
}
