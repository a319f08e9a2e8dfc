"""Extended states (temperature, wetness, dirt, …): their rules and their predicates."""
