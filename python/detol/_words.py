"""What this package says on stderr, and the program's sentences in the words of Python."""

import re
import sys

# What the program calls by its options, a caller of this package calls by its arguments.
_WORDS = (("under another name or with --if-exists new", 'with name="another" or if_exists="new"'),
          ("another --study, or --if-exists new", 'name="another", or if_exists="new"'),
          ("the space file is not the one", "the space is not the one"),
          ("another --storage", "another storage"),
          ("a --storage that", "a storage that"))


def say(line: str) -> None:
    """Prints a line for people; where stderr is closed, nothing."""
    try:
        print(f"detol: {line}", file=sys.stderr, flush=True)
    except (AttributeError, OSError, ValueError):  # there is no stderr, or it is closed
        pass


def in_python(sentence: str, file: str = "") -> str:
    """The program's sentence without the place in a file that the caller has never seen."""
    if file:
        sentence = re.sub(re.escape(file) + r"(:\d+)*:? ?", "", sentence)
    for word, instead in _WORDS:
        sentence = sentence.replace(word, instead)
    return sentence


def short(value: object) -> str:
    """The value for a message, at most a line of it."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."
