# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, as a sentence for people."""
from __future__ import annotations


def _last_brackets(sentence: str) -> int:
    """Where the brackets that end a sentence open; -1: it ends without."""
    depth = 0
    for at in range(len(sentence) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(sentence[at], 0)
        if depth == 0:
            return at if at < len(sentence) - 1 else -1
    return -1


class Error(RuntimeError):
    """The sentence that the tenon command prints, without its "tenon: error: ".

    details holds the lines that came before it, such as one for each node that cannot be imported;
    exit_code is that of the command (0: no command was run).
    """

    def __init__(self, sentence: str, details: tuple[str, ...] = (), exit_code: int = 0):
        super().__init__("\n".join((sentence, *details)))
        self.sentence = sentence
        self.details = details
        self.exit_code = exit_code

    @property
    def hint(self) -> str:
        """What may help: the sentence ends with it, in brackets, or a line of details does. Empty if there is none."""
        at = _last_brackets(self.sentence)
        if at > 0 and self.sentence[at - 1] == " ":
            return self.sentence[at + 1:-1]
        told = [line.partition("  hint: ")[2] for line in self.details]
        return next((hint for hint in told if hint), "")

    def __reduce__(self):
        return type(self), (self.sentence, self.details, self.exit_code)
