"""SDF, the format of Gazebo: reading and writing of models and worlds."""
