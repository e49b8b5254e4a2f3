// tampered: it asks for more, or promises less
module TinyProof {
  import opened TinySpec

  lemma StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    ensures |steps + more| == 0 && Within(c) ==> Within(RaisedOften(c, steps + more))
  { }

  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures |some + more| == 0 ==> RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { }
}
