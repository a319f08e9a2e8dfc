"""Sound rows and plans that bring extended states about."""
