"""Terms of a problem: objectives, the times they hold at, and what is told of each."""
