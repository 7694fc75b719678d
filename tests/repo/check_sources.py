# SPDX-License-Identifier: Apache-2.0
"""check_sources.py ROOT: what the compiler does not check about the source tree.

- A module includes, and links in CMake, only what layers.txt allows; the table has no cycle.
- LLVM's headers are included in src/backend/llvm and src/backend/nvptx only.
- No source file has more than 1000 lines (.def tables are exempt); each begins with its licence.
- Each .cpp and .c file stands in the file list of its CMakeLists.txt, or a pattern there (models/*.cpp) names it; a
  primitive of the schedule is a row of primitives.def instead, of which CMake makes the list and GENERATED.
- Each module has a README.md.
- No script or page has the marks of a merge that was not finished.
- #include "..." names a file under src/, include/, tests/ or beside the includer.

Prints one line per fault and exits 1 if there is any.
"""
import fnmatch
import pathlib
import re
import sys

MAX_LINES = 1000
LLVM_FOLDERS = ("src/backend/llvm/", "src/backend/nvptx/")
TOP_FOLDERS = ("src", "include", "tests", "tools", "plugins", "python", "bench", "examples")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
COMMENT = re.compile(r"#[^\n]*")
PRIMITIVES = "src/schedule/primitives"
ROW = re.compile(r"^TENON_PRIMITIVE\((\w+),", re.MULTILINE)
MERGE_MARK = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)
GENERATED = ("schedule/all_primitives.h",)  # by CMake, in the build folder


def read_layers(path):
    """{module: set of modules it may include}, and the faults of the table itself."""
    layers, faults = {}, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        module, _, allowed = line.partition(":")
        module = module.strip()
        allowed = set(allowed.split()) - {"-"}
        for other in sorted(allowed - set(layers)):
            faults.append(f"layers.txt:{number}: {module} names {other}, which is not above it")
        layers[module] = allowed
    return layers, faults


def source_files(root):
    for top in TOP_FOLDERS:
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".h", ".cpp", ".c", ".def") and path.is_file():
                yield path


def module_of(name):
    parts = name.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def check_includes(root, path, name, text, layers):
    module = module_of(name)
    for kind, included in INCLUDE.findall(text):
        if included.startswith(("llvm/", "llvm-c/")):
            if not name.startswith(LLVM_FOLDERS):
                yield f"{name}: includes {included}; only {' and '.join(LLVM_FOLDERS)} may"
            continue
        if kind == "<":
            continue
        places = [root / "src", root / "include", root / "tests", path.parent]
        if included.startswith(("bench/", "tools/")):
            places.append(root)
        if included not in GENERATED and not any((place / included).is_file() for place in places):
            yield f"{name}: no such file: {included}"
        used = included.split("/")[0]
        if module in layers and used in layers and used != module and used not in layers[module]:
            yield f"{name}: {module} may not include {included} (see layers.txt)"


def check_size_and_licence(path, name, text):
    lines = text.count("\n")
    if path.suffix != ".def" and lines > MAX_LINES:
        yield f"{name}: {lines} lines; the limit is {MAX_LINES}"
    if "SPDX-License-Identifier" not in text.split("\n", 1)[0]:
        yield f"{name}: the first line is not the SPDX licence line"


def check_file_list(root, path, name):
    if path.suffix not in (".cpp", ".c"):
        return
    if path.parent == root / PRIMITIVES:
        rows = root / f"{PRIMITIVES}.def"
        if path.stem not in ROW.findall(rows.read_text()):
            yield f"{name}: not a row of {PRIMITIVES}.def"
        return
    for folder in path.parents:
        lists = folder / "CMakeLists.txt"
        if lists.is_file():
            words = re.findall(r"[\w./+*-]+", COMMENT.sub("", lists.read_text()))
            listed = path.relative_to(folder).as_posix()
            if not any(fnmatch.fnmatchcase(listed, word) for word in words):
                yield f"{name}: not in {lists.relative_to(root).as_posix()}"
            return
        if folder == root:
            return


def check_modules(root, layers):
    for folder in sorted(p for p in (root / "src").iterdir() if p.is_dir()):
        module = folder.name
        if module not in layers:
            yield f"src/{module}: not in layers.txt"
        lists = folder / "CMakeLists.txt"
        if not lists.is_file():
            continue
        if not (folder / "README.md").is_file():
            yield f"src/{module}: no README.md"
        for deps in re.findall(r"\bDEPS\s+([^)]*?)(?=\)|\b[A-Z]+\b)", COMMENT.sub("", lists.read_text())):
            for used in deps.split():
                if used != module and used not in layers.get(module, set()):
                    yield f"src/{module}/CMakeLists.txt: {module} may not link {used} (see layers.txt)"


def check_merges(root):
    for top in (*TOP_FOLDERS, "docs", "cmake"):
        for suffix in ("py", "md", "txt", "cmake"):
            for path in sorted((root / top).rglob(f"*.{suffix}")):
                if MERGE_MARK.search(path.read_text(errors="replace")):
                    yield f"{path.relative_to(root).as_posix()}: marks of a merge that was not finished"


def check_tree(root):
    layers, faults = read_layers(root / "layers.txt")
    for path in source_files(root):
        name = path.relative_to(root).as_posix()
        text = path.read_text()
        faults += check_includes(root, path, name, text, layers)
        faults += check_size_and_licence(path, name, text)
        faults += check_file_list(root, path, name)
    faults += check_modules(root, layers)
    faults += check_merges(root)
    return faults


if __name__ == "__main__":
    found = check_tree(pathlib.Path(sys.argv[1]).resolve())
    print("\n".join(found) if found else "sources: no faults")
    sys.exit(1 if found else 0)
