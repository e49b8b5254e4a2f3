/* An answer that uses much of the language. /* Comments nest. */ assume false; {:axiom} "text" */
module TinySpec { predicate Within(c: Counter) { "whatever stands here is replaced" == 'x' } /* } */ }

module TinyProof {
  import opened TinySpec

  // assume, {:verify false}, @Axiom, ünïcödé: in a comment they are only words.
  type Steps = seq<nat>

  datatype Way = Stay | Raise(n: nat)

  predicate {:opaque} Empty(steps: Steps) { |steps| == 0 }

  function {:opaque} Shorter(steps: Steps): (shorter: Steps)
    requires !(|steps| == 0)
    ensures |shorter| == |steps| - 1
  {
    var last := |steps| - 1;
    steps[..last]
  }

  function Total(steps: Steps): nat
    decreases |steps|
  {
    if |steps| == 0 then 0 else match Step(steps) case Raise(n) => n + Total(steps[..|steps| - 1]) case Stay => 0
  }

  function Step(steps: Steps): Way { if |steps| == 0 then Stay else Raise(steps[|steps| - 1]) }

  lemma StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
  {
    var both := steps + more;
    WithinAfter(c, both);
  }

  lemma {:induction steps} WithinAfter(c: Counter, steps: Steps)
    requires Within(c)
    ensures Within(RaisedOften(c, steps))
    decreases |steps| * 2
  {
    if |steps| != 0 {
      WithinAfter(c, steps[..|steps| - 1]);
    }
  }

  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
    decreases |more|
  {
    var middle := RaisedOften(c, some);
    if |more| == 0 {
      assert some + more == some by { assert forall i {:trigger some[i]} :: 0 <= i < |some| ==> some[i] in some; }
      return;
    }
    var all, last := some + more, |more| - 1;
    calc {
      RaisedOften(middle, more);
      Raised(RaisedOften(middle, more[..last]), more[last]);
      { Composes(c, some, more[..last]); }
      Raised(RaisedOften(c, some + more[..last]), more[last]);
      { assert all[..|all| - 1] == some + more[..last] && all[|all| - 1] == more[last]; }
      RaisedOften(c, all);
    }
    forall i | 0 <= i < |more| ensures more[i] in more { reveal Empty(); }
    ghost var found := Found(more);
    assert exists n :: n in more && n == found;
    var one := map[0 := 0, 1 := 1];
    assert forall i :: i in one ==> one[i] == i;
    assert 1 in multiset{1} && {1, 2} - {1} == {2} && 3 !in {1, 2};
  }

  lemma Found(steps: Steps) returns (n: nat)
    requires |steps| > 0
    ensures n in steps
  {
    var i :| 0 <= i < |steps|;
    n := steps[i];
    match Step(steps) { case Raise(m) => case Stay => assert false; }
  }
}
