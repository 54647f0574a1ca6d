"""Cheap judges first, strong ones for the doubtful rest: calibration, policy, replay."""
