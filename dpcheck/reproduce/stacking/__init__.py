"""The tables of [Guo2018] and [Yao2019]."""
