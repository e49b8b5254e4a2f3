// scored: 0 of 2 required
module TinyProof {
  import opened TinySpec

  type Never = n: nat | false

  datatype Box = Wrap(n: Never)

  function Give(): Box ensures Give().n < 0 { Wrap(Zero()) }

  function Zero(): Never { var n :| true; n }

  lemma StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
  { var b := Give(); }

  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { var b := Give(); }
}
