"""Initial guesses, multistart and batches of problems."""
