"""Functions of users as features: their traces, and their params."""
