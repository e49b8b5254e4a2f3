// A counter that only grows: the smallest problem there is. The tests use it where nothing larger is needed.

module TinySpec {

  datatype Counter = Counter(value: nat, limit: nat)

  predicate Within(c: Counter) { c.value <= c.limit }

  function Raised(c: Counter, n: nat): Counter
  {
    if c.value + n <= c.limit then Counter(c.value + n, c.limit) else c
  }

  function RaisedOften(c: Counter, steps: seq<nat>): Counter
    decreases |steps|
  {
    if |steps| == 0 then c else Raised(RaisedOften(c, steps[..|steps| - 1]), steps[|steps| - 1])
  }
}
