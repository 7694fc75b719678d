# SPDX-License-Identifier: Apache-2.0
"""batches.py FOLDER: shares the sources of targets out to batches, which are files that include them.

A line of FOLDER/targets.txt is "target a.cpp b.cpp ..." with tabs between; the printed lines name what to compile
instead, "target FOLDER/target_0.cpp ...". The compiler reads a batch as one translation unit, so that it reads
common headers once. A private name (one of an unnamed namespace, a static function or a macro) that another file of
the batch uses, whether for a private thing of its own or for a public one that would be hidden, gets another
name while its file is read; headers come first, so that they are read as they are:

    a.cpp: int half(int x) {}   b.cpp: y = half(3)   ->   #include "headers of both"
                                                          #define half half_of_a_cpp
                                                          #include "a.cpp"
                                                          #undef half
                                                          #include "b.cpp"

A file is kept apart where its text does not show that the other name would mean the same.
"""
import os
import pathlib
import re
import sys

MAX_LINES = 3000
NOISE = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"')
END = re.compile(r"^\}\s*// namespace\b.*$", re.MULTILINE)
TYPE = re.compile(r"(?:struct|class|enum class|enum|union) (?:\[\[\w+\]\] )?(\w+)")
ALIAS = re.compile(r"(?:using|namespace) (\w+) = ")
FUNCTION = re.compile(r"[\w:<>,&*\[\]() ]*?[ &*](\w+)\(")
VARIABLE = re.compile(r"[\w:<>,&* ]*?\b(\w+)(?:\[\w*\])*(?: =|;|\{)")
MACRO = re.compile(r"#\s*define (\w+)")
SKIPPED = re.compile(r"[\s}/#]|TEST|INSTANTIATE_|template|static_assert|using namespace|using [\w:]+;|extern")
USED = re.compile(r"(?<![\w.:>])(\w+)\b(\()?")


INCLUDE = re.compile(r"^[ \t]*#\s*include\s+([<\"][^>\"]+[>\"])", re.MULTILINE)
TOP = re.compile(r"(?:\s*(?://[^\n]*|#\s*include[^\n]*|#pragma[^\n]*)?\n)*")
CLASS = re.compile(r"const (?:\w+::)*(?!Json\b)[A-Z]\w*&")
SELECTED = r"(?:\.|->|::)\s*"
CASES = r"\b(?:TEST|TYPED_TEST|INSTANTIATE_)\w*\([^)]*\b"


class Source:
    def __init__(self, text, functions_seen):
        includes = INCLUDE.findall(text)
        top = INCLUDE.findall(TOP.match(text)[0])
        self.headers = [h for h in top if not h.endswith(('.def"', '.inc"'))]
        self.headers_first = self.headers == [h for h in includes if not h.endswith(('.def"', '.inc"'))]
        self.text = text = NOISE.sub("", END.sub("namespace ends", text))
        self.lines = text.count("\n")
        self.names, self.public = declared_names(text)  # {name: its declaration}
        self.words = {match[1] for match in USED.finditer(text)}
        self.calls = {match[1] for match in USED.finditer(text) if match[2]}
        self.functions_seen = functions_seen

    def hidden(self, other):
        """Private names of this file that change what the other one means."""
        for name, declaration in self.names.items():
            same_alias = ALIAS.match(declaration) and other.names.get(name) == declaration
            if name in (other.calls if is_function(declaration) else other.words) and not same_alias:
                yield name

    def can_rename(self, name):
        """Whether each use of the name in this file is one of the private thing."""
        declaration = self.names[name]
        if MACRO.match(declaration):
            return True  # it ends with the file
        if not self.headers_first or name in self.public:
            return False
        if is_function(declaration) and name in self.functions_seen:
            return False
        return not re.search(f"(?:{SELECTED}|{CASES}){name}\\b", self.text)


def are_overloads(one, other):
    """Whether both are functions of different classes; those of numbers could be taken for each other."""
    if not (is_function(one) and is_function(other)):
        return False
    types = {first_type(one), first_type(other)}
    return len(types) == 2 and all(CLASS.fullmatch(t) for t in types)


def first_type(declaration):
    """Of a function's first parameter: const Row& of int f(const Row& row, int x) {"""
    return declaration.partition("(")[2].partition(",")[0].partition(")")[0].rpartition(" ")[0]


def is_function(declaration):
    return FUNCTION.match(declaration) and not VARIABLE.match(declaration)


def declaration_lines(text):
    """(line, whether it is private): lines at the left margin that begin a declaration, and macros."""
    inside = False
    for line in text.split("\n"):
        if line.startswith("namespace {"):
            inside = True
        elif line == "namespace ends":
            inside = False
        elif MACRO.match(line) or ALIAS.match(line) or line.startswith("static "):
            yield line, True
        elif line and not SKIPPED.match(line):
            yield line, inside


def declared_names(text):
    private, public = {}, {}
    for line, inside in declaration_lines(text):
        for form in (MACRO, ALIAS, TYPE, VARIABLE, FUNCTION):
            if match := form.match(line):
                (private if inside else public)[match[1]] = line
                break
    return private, public


def renames(sources):
    """{file: names} that keep the files of one batch from hiding each other's names; None: there are none."""
    out = {file: set() for file in sources}
    for file, source in sources.items():
        for other_file, other in sources.items():
            if other_file == file:
                continue
            for name in source.hidden(other):
                if source.can_rename(name):
                    out[file].add(name)
                elif name in other.names and other.can_rename(name):
                    out[other_file].add(name)
                elif not are_overloads(source.names[name], other.names.get(name, "")):
                    return None
    return out


def make_batches(texts, functions_seen=lambda file, text: set()):
    """texts: {file: text}. Each file joins the first batch where it fits. Gives {file: (source, renamed)} for each."""
    batches = []
    for file, text in texts.items():
        source = Source(text, functions_seen(file, text))
        for batch in batches:
            if sum(other.lines for other in batch.values()) + source.lines <= MAX_LINES:
                if renames({**batch, file: source}) is not None:
                    batch[file] = source
                    break
        else:
            batches.append({file: source})
    return [{file: (batch[file], names) for file, names in renames(batch).items()} for batch in batches]


def batch_text(folder, batch):
    """The text is the same in each checkout, for the sake of ccache."""
    headers = {}
    if any(names for _, names in batch.values()):
        for file, (source, _) in batch.items():
            beside = file.parent
            for header in source.headers:
                local = beside / header[1:-1]
                near = header[0] == '"' and local.exists()
                headers[f'"{os.path.relpath(local, folder)}"' if near else header] = True
    lines = [f"#include {header}" for header in headers]
    for file, (source, names) in batch.items():
        suffix = re.sub(r"\W", "_", f"{file.parent.name}_{file.name}")
        macros = {name for name in names if MACRO.match(source.names[name])}
        lines += [f"#define {name} {name}_of_{suffix}" for name in sorted(names - macros)]
        lines.append(f'#include "{os.path.relpath(file, folder)}"')
        lines += [f"#undef {name}" for name in sorted(names)]
    return "\n".join(lines) + "\n"


def write_batch(path, batch):
    """An equal file is left as it is."""
    text = batch_text(path.parent, batch)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


class Headers:
    """Tells which functions that are no members a file sees: it may call them by the name of its private ones."""

    def __init__(self, root):
        self.folders = [root, root / "src", root / "include", root / "tests"]
        self.known = {}  # {header: (functions, headers that it includes)}

    def find(self, include, beside):
        for folder in (beside, *self.folders):
            if (folder / include[1:-1]).is_file():
                return (folder / include[1:-1]).resolve()
        return None

    def read(self, header):
        if header not in self.known:
            text = header.read_text()
            _, public = declared_names(NOISE.sub("", END.sub("namespace ends", text)))
            functions = {name for name, declaration in public.items() if is_function(declaration)}
            found = (self.find(include, header.parent) for include in INCLUDE.findall(text))
            self.known[header] = functions, [other for other in found if other]
        return self.known[header]

    def functions_seen(self, file, text):
        found = [self.find(include, file.parent) for include in INCLUDE.findall(text)]
        seen, functions = set(), set()
        while found:
            header = found.pop()
            if header and header not in seen:
                seen.add(header)
                declared, others = self.read(header)
                functions |= declared
                found += others
        return functions


def main(folder, root):
    headers = Headers(root)
    for line in (folder / "targets.txt").read_text().splitlines():
        target, *sources = line.split("\t")
        compiled = []
        texts = {pathlib.Path(name): pathlib.Path(name).read_text() for name in sources}
        for number, batch in enumerate(make_batches(texts, headers.functions_seen)):
            path = folder / f"{target}_{number}.cpp"
            if len(batch) > 1:
                write_batch(path, batch)
            compiled.append(next(iter(batch)).as_posix() if len(batch) == 1 else path.as_posix())
        print(target, *compiled, sep="\t")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(__file__).resolve().parents[1])
