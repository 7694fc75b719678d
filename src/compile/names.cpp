// SPDX-License-Identifier: Apache-2.0
#include "compile/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace tenon::compile {
namespace {

// These are libraries of the system and of compilers: "-L out -lm" must not find a model.
constexpr std::string_view kLibraries[] = {
    "anl",      "asan",   "atomic", "c",    "crypt", "cuda",   "dl",   "gcc",
    "gcc_s",    "gomp",   "lsan",   "m",    "mvec",  "nsl",    "omp",  "pthread",
    "quadmath", "resolv", "rt",     "tsan", "ubsan", "unwind", "util", "z",
};

// These are headers of C and POSIX: "-I out" must not hide them.
constexpr std::string_view kHeaders[] = {
    "aio",      "alloca",  "assert",   "complex",     "cpio",      "ctype",     "dirent",
    "dlfcn",    "elf",     "endian",   "errno",       "fcntl",     "features",  "fenv",
    "float",    "fnmatch", "ftw",      "getopt",      "glob",      "grp",       "iconv",
    "inttypes", "iso646",  "langinfo", "libgen",      "limits",    "link",      "locale",
    "malloc",   "math",    "memory",   "mqueue",      "ndbm",      "netdb",     "nl_types",
    "poll",     "pwd",     "regex",    "sched",       "search",    "semaphore", "setjmp",
    "signal",   "spawn",   "stdalign", "stdarg",      "stdatomic", "stdbool",   "stddef",
    "stdint",   "stdio",   "stdlib",   "stdnoreturn", "string",    "strings",   "stropts",
    "syslog",   "tar",     "termios",  "tgmath",      "threads",   "time",      "trace",
    "uchar",    "ulimit",  "unistd",   "utime",       "utmpx",     "values",    "wchar",
    "wctype",   "wordexp",
};

template <size_t kCount>
bool has(const std::string_view (&names)[kCount], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

std::string identifier(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) != 0) out = "m_" + out;
  return out;
}

std::string why_no_name(std::string_view name) {
  if (name.size() > kLongestName) {
    return fmt::format("it has {} letters, and file names have room for {}", name.size(),
                       kLongestName);
  }
  if (has(kLibraries, name)) return fmt::format("lib{}.so is a library of the system", name);
  if (has(kHeaders, name)) return fmt::format("{}.h is a header of the system", name);
  return "";
}

std::string library_name(const std::string& text) {
  const std::string name = identifier(text).substr(0, kLongestName);
  return why_no_name(name).empty() ? name : name + "_model";
}

}  // namespace tenon::compile
