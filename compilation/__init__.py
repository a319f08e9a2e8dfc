"""Program compilation for XLA: one-kernel programs, packing and a program cache."""
