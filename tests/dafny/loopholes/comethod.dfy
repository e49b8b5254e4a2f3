// tampered: `comethod` is not in the language
module TinyProof {
  import opened TinySpec

  lemma True() { }

  comethod Anything() ensures false { }

  lemma StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
  { Anything(); }

  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { Anything(); }
}
