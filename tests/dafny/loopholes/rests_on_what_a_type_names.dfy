// scored: 0 of 2 required
module TinyProof {
  import opened TinySpec

  predicate Absurd(n: nat) ensures false { true }

  type Small = n: nat | Absurd(n)

  datatype Box = Wrap(n: Small)

  lemma StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
  { var b := Wrap(0); }

  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { var b := Wrap(0); }
}
