# SPDX-License-Identifier: Apache-2.0
"""Sentences of the program in words of Python: its options become keyword arguments.

    give sizes: --dims seq=128 --shape x:1..8x3     give sizes: dims={"seq": 128, "x": ("1..8", 3)}
    make it a constant: --bind sr=N                 make it a constant: bind={"sr": N}
    use another file (--db)                         use another file (db=)
    tenon compile MODEL -o DIR writes one           tenon.compile(MODEL, out=DIR) writes one

Options without a keyword stay as they are, for `options` takes them so, and so do other command lines.
"""
from __future__ import annotations

import json
import re
import shlex
from typing import Callable, NamedTuple, Optional

_WORD = r"""'(?:[^']|'\\'')*'|"[^"]*"|[^\s'"()]+"""
_COMMAND = r"(?<![\w/.-])tenon [a-z][^()]*"  # as a user would type it, to the end of the hint
_OPTION = re.compile(rf"(?P<command>{_COMMAND})|(?<![\w-])(?P<option>--[a-z-]+)(?: (?P<word>{_WORD}))?")

_CALLS = (
    (re.compile(r"^(tenon: error: )?stdin(?=: )"), r"\1model"),  # where the bytes of a model go
    (re.compile(r"\btenon (compile|tune) MODEL -o DIR( --emit so,h)?"), r"tenon.\1(MODEL, out=DIR)"),
    (re.compile(r"\btenon (compile|tune) -h(?= shows)"), r"help(tenon.\1)"),
    (re.compile(r"\btenon (compile|tune)(?= (makes|builds) )"), r"tenon.\1"),
)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _number(value: str) -> str:
    """As Python writes it; N stands for one that is the user's to choose."""
    if value in ("true", "false"):
        return value.capitalize()
    return value if re.fullmatch(r"N|-?\d+(\.\d*)?(e[-+]?\d+)?", value) else _text(value)


def _dims(word: str) -> str:
    """batch=1,seq=16,32: a part without a name goes on with the list before it."""
    items: list[tuple[str, str]] = []
    for part in word.split(","):
        name, equals, size = part.rpartition("=")
        items = items + [(name, size)] if equals else items[:-1] + [(items[-1][0], items[-1][1] + "," + part)]
    return ", ".join(f"{_text(name)}: {_number(size)}" for name, size in items)


def _shape(word: str) -> str:
    """x:1..8x3 or x[1..8,3]"""
    in_brackets = word.endswith("]")
    name, _, sizes = word[:-1].rpartition("[") if in_brackets else word.rpartition(":")
    shape = [_number(size) for size in sizes.split("," if in_brackets else "x")]
    return f"{_text(name)}: ({', '.join(shape)}{',' if len(shape) == 1 else ''})"


def _bind(word: str) -> str:
    """sr=16000, k=1,2,3 or axes=@axes.npy"""
    name, _, value = word.partition("=")
    if value.startswith("@"):
        return f"{_text(name)}: np.load({_text(value[1:])})"
    values = [_number(v) for v in value.split(",")]
    return f"{_text(name)}: {values[0] if len(values) == 1 else '[' + ', '.join(values) + ']'}"


def _file(word: str) -> str:
    return word if word.isupper() else _text(word)  # FILE stands for one


class _Keyword(NamedTuple):
    name: str
    value: str  # what a value looks like: another word behind the option is none
    write: Callable[[str], str]  # items of a dict, where `braces`
    braces: bool = False


_KEYWORDS = {
    "--dims": _Keyword("dims", r"[^=]+=.+", _dims, braces=True),
    "--shape": _Keyword("dims", r".+:.+|.+\[.*\]", _shape, braces=True),
    "--bind": _Keyword("bind", r"[^=]+=.+", _bind, braces=True),
    "--target": _Keyword("target", r"host|.*\d.*", _text),
    "--accuracy": _Keyword("accuracy", r"strict|default|fast", _text),
    "--threads": _Keyword("threads", r"\d+", str),
    "--budget": _Keyword("budget", r"\d.*", _text),
    "--trials": _Keyword("trials", r"\d+", str),
    "--db": _Keyword("db", r"[A-Z]+|.*[./].*", _file),
    "--output": _Keyword("out", r"[A-Z]+|.*[./].*", _file),
}


class _Told(NamedTuple):
    """An option in a sentence; without a value it is only named."""

    keyword: _Keyword
    value: Optional[str]
    begin: int
    end: int

    def written(self, behind: str) -> str:
        if self.value is None:
            return self.keyword.name + ("" if behind == ":" else "=")
        return f"{self.keyword.name}={{{self.value}}}" if self.keyword.braces else f"{self.keyword.name}={self.value}"

    def goes_on(self, last: _Told, between: str) -> bool:
        """Whether both are items of one dict."""
        same = self.keyword.braces and self.keyword.name == last.keyword.name
        return same and self.value is not None and last.value is not None and between == " "


def _read(match: re.Match[str]) -> Optional[_Told]:
    """None: it stays as it is."""
    keyword = _KEYWORDS.get(match["option"] or "")
    if keyword is None:
        return None
    word = match["word"] or ""
    quoted = word[:1] in ("'", '"')
    value = shlex.split(word)[0] if quoted else word.rstrip(",;:.")
    if not re.fullmatch(keyword.value, value):
        return _Told(keyword, None, match.start(), match.end("option"))
    end = match.end() if quoted else match.start("word") + len(value)
    return _Told(keyword, keyword.write(value), match.start(), end)


def _options(sentence: str) -> list[_Told]:
    told: list[_Told] = []
    for this in filter(None, map(_read, _OPTION.finditer(sentence))):
        last = told[-1] if told else None
        if last is not None and this.goes_on(last, sentence[last.end:this.begin]):
            told[-1] = last._replace(value=f"{last.value}, {this.value}", end=this.end)
        else:
            told.append(this)
    return told


def in_python(sentence: str) -> str:
    """What the program says, as someone would say it who calls it from Python."""
    for said, told in _CALLS:
        sentence = said.sub(told, sentence)
    out, at = "", 0
    for option in _options(sentence):
        out += sentence[at:option.begin] + option.written(sentence[option.end:option.end + 1])
        at = option.end
    return out + sentence[at:]
