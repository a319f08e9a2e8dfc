"""Search over the branches of formulas, and placement by the best of them."""
