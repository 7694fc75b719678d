# SPDX-License-Identifier: Apache-2.0
"""batches.py FOLDER: shares the sources of targets out to batches, which are files that include them.

A line of FOLDER/targets.txt is "target a.cpp b.cpp ..." with tabs between; the printed lines name what to compile
instead, "target FOLDER/target_0.cpp ...". The compiler reads a batch as one translation unit, so that it reads
common headers once. A file with a private name (one of an unnamed namespace, a static function or a macro) is
kept apart from files that use that name, whether for a private thing of their own or for a public one that it
would hide:

    a.cpp: int half(int x) {}   b.cpp: y = half(3)   c.cpp: int twice(int x) {}   ->   a.cpp c.cpp
                                                                                       b.cpp
"""
import os
import pathlib
import re
import sys

MAX_LINES = 2000
NOISE = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"')
END = re.compile(r"^\}\s*// namespace\b.*$", re.MULTILINE)
TYPE = re.compile(r"(?:struct|class|enum class|enum|union) (?:\[\[\w+\]\] )?(\w+)")
ALIAS = re.compile(r"(?:using|namespace) (\w+) = ")
FUNCTION = re.compile(r"[\w:<>,&*\[\] ]*?\b(\w+)\(")
VARIABLE = re.compile(r"[\w:<>,&* ]*?\b(\w+)(?:\[\w*\])*(?: =|;|\{)")
MACRO = re.compile(r"#\s*define (\w+)")
SKIPPED = re.compile(r"[\s}/#]|TEST|INSTANTIATE_|template|static_assert|using namespace|using [\w:]+;|extern")
USED = re.compile(r"(?<![\w.:>])(\w+)\b(\()?")


class Source:
    def __init__(self, text):
        text = NOISE.sub("", END.sub("namespace ends", text))
        self.lines = text.count("\n")
        self.names = private_names(text)  # {name: its declaration}
        self.words = {match[1] for match in USED.finditer(text)}
        self.calls = {match[1] for match in USED.finditer(text) if match[2]}

    def hides(self, other):
        """Whether a private name of this file changes what the other one means."""
        for name, declaration in self.names.items():
            is_function = FUNCTION.match(declaration) and not VARIABLE.match(declaration)
            same_alias = ALIAS.match(declaration) and other.names.get(name) == declaration
            if name in (other.calls if is_function else other.words) and not same_alias:
                return True
        return False


def private_lines(text):
    """Lines that begin a declaration at the left margin of an unnamed namespace, and macros."""
    inside = False
    for line in text.split("\n"):
        if line.startswith("namespace {"):
            inside = True
        elif line == "namespace ends":
            inside = False
        elif MACRO.match(line) or ALIAS.match(line) or line.startswith("static "):
            yield line
        elif inside and line and not SKIPPED.match(line):
            yield line


def private_names(text):
    names = {}
    for line in private_lines(text):
        for form in (MACRO, ALIAS, TYPE, VARIABLE, FUNCTION):
            if match := form.match(line):
                names[match[1]] = line
                break
    return names


def make_batches(texts):
    """texts: {file: text}. Each file joins the first batch where it fits."""
    batches = []  # [files, sources]
    for file, text in texts.items():
        source = Source(text)
        for files, sources in batches:
            long = sum(other.lines for other in sources) + source.lines > MAX_LINES
            if not long and not any(source.hides(other) or other.hides(source) for other in sources):
                break
        else:
            files, sources = [], []
            batches.append((files, sources))
        files.append(file)
        sources.append(source)
    return [files for files, _ in batches]


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
