// tampered: it asks for more, or promises less
module TinyProof {
  import opened TinySpec

  lemma StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    ensures true
  { }

  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(c, []) == c
  { }
}
