"""MJCF: reading, through MuJoCo's compiler."""
