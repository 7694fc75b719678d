# SPDX-License-Identifier: Apache-2.0
"""batches.py FOLDER: shares the sources of targets out to batches, which are files that include them.

A line of FOLDER/targets.txt is "target a.cpp b.cpp ..." with tabs between; the printed lines name what to compile
instead, "target FOLDER/target_0.cpp ...". The compiler reads a batch as one translation unit, so that it reads
common headers once. Two files that give a private name (one of an unnamed namespace, a static function or a
macro) clashing meanings, or hide it, are kept apart:

    a.cpp: int half(int x)   b.cpp: int half(int y)   c.cpp: int half(Shape s)   ->   a.cpp c.cpp
                                                                                      b.cpp
"""
import os
import pathlib
import re
import sys

MAX_LINES = 2000
TYPE = re.compile(r"(?:struct|class|enum class|enum|union) (?:\[\[\w+\]\] )?(\w+)")
ALIAS = re.compile(r"(?:using|namespace) (\w+) = ")
FUNCTION = re.compile(r"[\w:<>,&*\[\] ]*?\b(\w+)\(")
VARIABLE = re.compile(r"[\w:<>,&* ]*?\b(\w+)(?:\[\w*\])*(?: =|;|\{|\()")
LOCAL = re.compile(r"\s+(?:static )?const(?:expr)? [\w:<>,&* ]*?\b(k[A-Z]\w*)")
MACRO = re.compile(r"#\s*define (\w+)")
SKIPPED = re.compile(r"[\s}/#]|TEST|INSTANTIATE_|template|static_assert|using namespace|using [\w:]+;|extern")


def parameter_types(text):
    """What tells overloads apart, however it is spelt: "(const te::A& a, int b) {" -> "A,int"."""
    depth, types = 0, []
    for char in text:
        depth += (char in "(<[{") - (char in ")>]}")
        if depth == 0:
            break
        if depth == 1 and char in "(,":
            types.append("")
        else:
            types[-1] += char
    bare = [re.sub(r"\bconst\b|\w+::|&", "", kind.split(" = ")[0]).split() for kind in types]
    return ",".join(" ".join(words[:-1] or words) for words in bare)


def private_lines(text):
    """Lines that begin a declaration at the left margin of an unnamed namespace, joined while parentheses are open."""
    inside, lines = False, text.split("\n")
    for number, line in enumerate(lines):
        if line.startswith("namespace {"):
            inside = True
        elif re.match(r"\}\s*// namespace", line):
            inside = False
        elif line.startswith("#") or LOCAL.match(line):
            yield line
        elif (inside or line.startswith("static ")) and line and not SKIPPED.match(line):
            while line.count("(") > line.count(")") and number + 1 < len(lines):
                number += 1
                line += " " + lines[number].strip()
            yield line


def private_names(text):
    """{name: set of meanings}; equal aliases mean the same, equal variables and types do not."""
    names = {}
    for line in private_lines(text):
        if match := MACRO.match(line) or ALIAS.match(line):
            meaning = "=" + line
        elif match := LOCAL.match(line):
            meaning = "local"
        elif match := TYPE.match(line):
            meaning = "type"
        elif (match := FUNCTION.match(line)) and " = " not in line[: match.end()]:
            meaning = parameter_types(line[match.end() - 1 :])
        elif match := VARIABLE.match(line):
            meaning = "variable"
        else:
            continue
        names.setdefault(match[1], set()).add(meaning)
    return names


def may_stand_together(one, other):
    """Two meanings of a name: overloads, the same alias twice, or constants of two functions."""
    if one == other:
        return one.startswith("=") or one == "local"
    return not any(meaning in ("type", "variable", "local") or meaning.startswith("=") for meaning in (one, other))


def clash(one, other):
    return any(
        not may_stand_together(meaning, rival)
        for name in one.keys() & other.keys()
        for meaning in one[name]
        for rival in other[name]
    )


def make_batches(texts):
    """texts: {file: text}. Each file joins the first batch where it fits."""
    batches = []  # (files, names of each file, lines)
    for file, text in texts.items():
        names, lines = private_names(text), text.count("\n")
        for batch in batches:
            if batch[2] + lines <= MAX_LINES and not any(clash(names, other) for other in batch[1]):
                break
        else:
            batch = [[], [], 0]
            batches.append(batch)
        batch[0].append(file)
        batch[1].append(names)
        batch[2] += lines
    return [batch[0] for batch in batches]


def write_batch(path, files):
    """The text is the same in each checkout, for the sake of ccache; an equal file is left as it is."""
    text = "".join(f'#include "{os.path.relpath(file, path.parent)}"\n' for file in files)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main(folder):
    for line in (folder / "targets.txt").read_text().splitlines():
        target, *sources = line.split("\t")
        compiled = []
        for number, files in enumerate(make_batches({name: pathlib.Path(name).read_text() for name in sources})):
            path = folder / f"{target}_{number}.cpp"
            if len(files) > 1:
                write_batch(path, files)
            compiled.append(files[0] if len(files) == 1 else path.as_posix())
        print(target, *compiled, sep="\t")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
