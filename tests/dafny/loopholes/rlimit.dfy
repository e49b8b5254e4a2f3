// tampered: the attribute {:rlimit} is not
module TinyProof {
  import opened TinySpec

  lemma {:rlimit 1} StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
  { }

  lemma {:rlimit 1} Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { }
}
