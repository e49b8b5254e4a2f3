// tampered: an attribute of `decreases` could hide a *
module TinyProof {
  import opened TinySpec

  lemma Anything() decreases {:opaque} * ensures false { Anything(); }

  lemma StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
  { Anything(); }

  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { Anything(); }
}
