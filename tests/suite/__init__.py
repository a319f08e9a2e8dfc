"""Choice and order of what `make test` and the other targets run, and its programs."""
