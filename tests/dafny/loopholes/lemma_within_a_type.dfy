// tampered: lemma within the datatype Any
module TinyProof {
  import opened TinySpec

  datatype Any = Some { lemma Thing() ensures false }

  lemma StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
  { Some.Thing(); }

  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { Some.Thing(); }
}
