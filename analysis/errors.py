# SPDX-License-Identifier: GPL-2.0-or-later
"""Exit statuses, and the one kind of error that reaches a person: a line of text."""
import difflib

OK, REGRESSION, CANNOT_TELL = 0, 1, 125
USAGE, ENVIRONMENT, INTERNAL = 129, 130, 131


class Trouble(Exception):
    """What failed, on what, why, what to do: one line and the exit status that goes with it."""

    def __init__(self, text, status=ENVIRONMENT):
        super().__init__(text)
        self.status = status


def nearest(word, words):
    """' (did you mean X?)' for the word that is close, else ''."""
    close = difflib.get_close_matches(str(word), [str(w) for w in words], n=1)
    return f" (did you mean {close[0]}?)" if close else ""
