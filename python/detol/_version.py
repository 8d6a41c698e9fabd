"""The version of this package, which is the program's."""

__version__ = "0.1.0"
