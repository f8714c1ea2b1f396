"""Measurements beside other tools, on the same machine, in one process and on the same inputs."""
