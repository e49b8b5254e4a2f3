// tampered: iset within the datatype Russell
module TinyProof {
  import opened TinySpec

  datatype Russell = Russell(members: iset<Russell>)

  function Others(): iset<Russell> { iset r: Russell | r !in r.members }

  lemma Anything() ensures false
  {
    var all := Russell(Others());
    assert all.members == Others();
    if all in Others() {
      assert all !in all.members;
    } else {
      assert all in all.members;
    }
  }

  lemma StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
  { Anything(); }

  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
  { Anything(); }
}
