"""What `make test` and the other targets run, in which order, with which programs."""
