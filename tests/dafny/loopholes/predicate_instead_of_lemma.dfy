// scored: 0 of 2 required
module TinyProof {
  import opened TinySpec

  predicate StaysWithin(c: Counter, steps: seq<nat>, more: seq<nat>) { true }

  predicate Composes(c: Counter, some: seq<nat>, more: seq<nat>) { true }
}
