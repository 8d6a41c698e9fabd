"""The program `detol`: the one that a wheel carries, $DETOL, or the one on PATH."""

import os
import pathlib
import shutil
import sys
from typing import Optional

_CARRIED = pathlib.Path(__file__).parent / "bin" / "detol"


def find_program() -> Optional[str]:
    """Its path; None if there is none."""
    carried = str(_CARRIED) if os.access(_CARRIED, os.X_OK) else None
    return os.environ.get("DETOL") or carried or shutil.which("detol")


def main() -> None:
    """Becomes the program that the wheel carries: the command `detol` of an environment."""
    os.execv(_CARRIED, [str(_CARRIED), *sys.argv[1:]])
