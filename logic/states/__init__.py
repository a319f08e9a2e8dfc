"""Extended states of objects: iGibson 2.0's rules, roll-outs, predicates and plans."""
