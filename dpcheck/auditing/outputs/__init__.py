"""Outputs of any kind, read into rows of finite numbers whose columns have names."""
