module TinyProof {
  import opened TinySpec

  lemma StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps + more))
  {
    WithinAfter(c, steps + more);
  }

  lemma WithinAfter(c: Counter, steps: seq<nat>)
    requires Within(c)
    ensures Within(RaisedOften(c, steps))
    decreases |steps|
  {
    if |steps| > 0 {
      WithinAfter(c, Shorter(steps));
    }
  }

  // The list without its last step.
  function Shorter(steps: seq<nat>): seq<nat>
    requires |steps| > 0
  {
    steps[..|steps| - 1]
  }

  predicate EndsAlike(some: seq<nat>, more: seq<nat>)
  {
    && (|more| > 0 ==> Shorter(some + more) == some + Shorter(more))  // so the induction can go on
    && (|more| > 0 ==> (some + more)[|some + more| - 1] == more[|more| - 1])
  }

  lemma LastOfBoth(some: seq<nat>, more: seq<nat>)
    ensures EndsAlike(some, more)
  { }

  lemma Composes(c: Counter, some: seq<nat>, more: seq<nat>)
    ensures RaisedOften(RaisedOften(c, some), more) == RaisedOften(c, some + more)
    decreases |more|
  {
    if |more| == 0 {
      assert some + more == some;
    } else {
      Composes(c, some, Shorter(more));
      LastOfBoth(some, more);
    }
  }
}
