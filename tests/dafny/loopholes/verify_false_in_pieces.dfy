// tampered: the attribute {:verify} is not
module TinyProof {
  import opened TinySpec

  lemma { :  verify
    false } StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
  { }

  lemma {/**/:/* verify */verify /* true */ false/**/} Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { }
}
