// scored: 0 of 2 required
module TinyProof {
  import opened TinySpec

  lemma Anything(c: Counter) ensures false { StaysWithin(c, [], []); Something(c); }

  lemma Something(c: Counter) ensures false { Anything(c); }

  lemma StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    ensures Within(RaisedOften(c, steps + more))
  { Composes(c, steps, steps); Anything(c); }

  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { Anything(c); }
}
