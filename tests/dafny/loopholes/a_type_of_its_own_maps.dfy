// tampered: imap within the datatype Cantor
module TinyProof {
  import opened TinySpec

  datatype Cantor = Cantor(row: imap<Cantor, bool>)

  lemma Anything() ensures false
  {
    var diagonal := imap c: Cantor | true :: !(c in c.row && c.row[c]);
    var all := Cantor(diagonal);
    assert all.row[all] == diagonal[all];
  }

  lemma StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
  { Anything(); }

  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { Anything(); }
}
