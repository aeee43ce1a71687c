"""stub"""


def attack(*_args):
    """stub"""
