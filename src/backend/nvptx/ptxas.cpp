// SPDX-License-Identifier: Apache-2.0
#include "backend/nvptx/ptxas.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "support/check.h"
#include "support/private_folder.h"
#include "support/process.h"

namespace tenon::backend::nvptx {
namespace {

namespace fs = std::filesystem;

constexpr double kLimitSeconds = 120;

bool is_program(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0;
}

std::vector<fs::path> places() {
  std::vector<fs::path> out;
  if (const char* path = std::getenv("PATH")) {
    std::string_view rest = path;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(':'), rest.size());
      if (end > 0) out.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  if (const char* home = std::getenv("CUDA_HOME")) out.push_back(fs::path(home) / "bin");
  out.emplace_back("/usr/local/cuda/bin");
  return out;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

void write_text(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw UserError(file.string() + " cannot be written");
}

std::string read_bytes(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (bytes.empty()) throw UserError(file.string() + " cannot be read back");
  return bytes;
}

// The number in front of `words`; 0 if there is none.
int number_before(std::string_view line, std::string_view words) {
  const size_t end = line.find(words);
  if (end == std::string_view::npos) return 0;
  const size_t begin = line.find_last_not_of("0123456789", end - 1) + 1;
  int value = 0;
  std::from_chars(line.data() + begin, line.data() + end, value);
  return value;
}

}  // namespace

std::optional<fs::path> find_cuda_tool(const std::string& name) {
  for (const fs::path& folder : places()) {
    if (is_program(folder / name)) return folder / name;
  }
  return std::nullopt;
}

std::optional<fs::path> find_ptxas() {
  if (const char* named = std::getenv("TENON_PTXAS")) {
    if (std::string_view(named) == "none") return std::nullopt;
    if (!is_program(named)) throw UserError(std::string("TENON_PTXAS: no program ") + named);
    return named;
  }
  return find_cuda_tool("ptxas");
}

std::vector<PtxasReport> parse_report(std::string_view text) {
  std::vector<PtxasReport> out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    constexpr std::string_view kName = "Compiling entry function '";
    if (const size_t at = line.find(kName); at != std::string_view::npos) {
      const std::string_view rest = line.substr(at + kName.size());
      out.push_back({.kernel = std::string(rest.substr(0, rest.find('\'')))});
    }
    if (out.empty()) continue;
    PtxasReport& last = out.back();
    if (line.find("bytes stack frame") != std::string_view::npos) {
      last.stack_bytes = number_before(line, " bytes stack frame");
      last.spill_store_bytes = number_before(line, " bytes spill stores");
      last.spill_load_bytes = number_before(line, " bytes spill loads");
    } else if (line.find(" registers") != std::string_view::npos) {
      last.registers = number_before(line, " registers");
      last.shared_bytes = number_before(line, " bytes smem");
    }
  }
  return out;
}

Assembled assemble(const fs::path& ptxas, const std::vector<std::string>& texts,
                   const std::string& processor) {
  const PrivateFolder folder = PrivateFolder::temporary("ptxas");
  const fs::path to = folder.path() / "kernels.cubin";
  std::vector<std::string> command = {ptxas, "-arch=" + processor, "-O3", "-v", "-o", to};
  for (size_t i = 0; i < texts.size(); ++i) {
    command.push_back(folder.path() / fmt::format("kernels{}.ptx", i));
    write_text(command.back(), texts[i]);
  }
  const ProcessResult result = run_process(command, kLimitSeconds, kMemoryInLargePages);
  if (result.late) throw UserError("ptxas did not end in time");
  if (result.status != 0) {
    const std::string said = result.err.empty() ? result.out : result.err;
    throw UserError("ptxas refuses a kernel: " + first_line(said));
  }
  return {read_bytes(to), parse_report(result.out + result.err)};
}

}  // namespace tenon::backend::nvptx
