// SPDX-License-Identifier: Apache-2.0
#include "artifact/write.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <sstream>

#include "artifact/embedded.h"
#include "artifact/header.h"
#include "artifact/install.h"
#include "artifact/kernels.h"
#include "artifact/manifest.h"
#include "artifact/table.h"
#include "artifact/weights.h"
#include "backend/backend.h"
#include "backend/objects.h"
#include "plan/text.h"
#include "support/check.h"
#include "support/output_file.h"

namespace tenon::artifact {
namespace {

namespace fs = std::filesystem;
using backend::LinkJob;
using backend::Member;

constexpr std::string_view kApi = "tenon_model_";  // what these names begin with is shown to users

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Files are made in one folder, and users find them in another.
struct Destination {
  fs::path made, shown;
  void write(const fs::path& name, std::string_view bytes) const {
    OutputFile file = OutputFile::create(made / name, (shown / name).string());
    file.write(bytes);
    file.close();
  }
};

// Every name of the runtime becomes the model's own, so that two models can be linked into one program.
//   tenon_model_run  =>  NAME_run       tenon_model, tenon_runtime_create  =>  NAME_rt_model, NAME_rt_...
std::string runtime_object(const Program& program) {
  const RuntimeParts parts = runtime_parts(host_of(program.target).arch);
  const std::string_view object = program.target.is_cpu() ? parts.library : parts.library_cuda;
  std::map<std::string, std::string> names = {{"tenon_model", program.name + "_rt_model"},
                                              {"tenon_cuda", program.name + "_rt_cuda"}};
  for (const std::string& symbol : backend::defined_symbols(object)) {
    names[symbol] = symbol.starts_with(kApi) ? program.name + "_" + symbol.substr(kApi.size())
                                             : program.name + "_rt_" + symbol;
  }
  return backend::rename_symbols(object, names);
}

std::string archive_of(const Program& program, std::vector<CompiledKernel>& kernels,
                       const TableFacts& facts) {
  std::vector<Member> members;
  for (CompiledKernel& kernel : kernels) {
    if (!kernel.object.empty()) {
      members.push_back({kernel.symbol + ".o", std::move(kernel.object)});
    }
  }
  members.push_back(
      {program.name + "_table.o",
       backend::compile_ir(table_ir(program, kernels, facts), host_of(program.target))});
  members.push_back({program.name + "_runtime.o", runtime_object(program)});
  return backend::make_archive(members);
}

void link_all(const Program& program, const std::string& archive, const Outputs& outputs,
              const Destination& place) {
  const fs::path& folder = place.made;
  const fs::path static_library = folder / ("lib" + program.name + ".a");
  const RuntimeParts parts = runtime_parts(host_of(program.target).arch);
  place.write(static_library.filename(), archive);
  if (outputs.shared_library) {
    const std::string name = "lib" + program.name + ".so";
    const std::vector<fs::path> needed = {folder / "libm.so.6", folder / "libc.so.6"};
    place.write(needed[0].filename(), parts.libm);
    place.write(needed[1].filename(), parts.libc);
    backend::link({static_library, folder / name, name, needed});
    for (const fs::path& stub : needed) {
      fs::remove(stub);
    }
  }
  if (outputs.object) {
    backend::link({static_library, folder / (program.name + ".o"), "", {}});
  }
  if (!outputs.static_library) {
    fs::remove(static_library);
  }
}

void write_listings(const Program& program, const std::vector<CompiledKernel>& kernels,
                    const Outputs& outputs, const Destination& place) {
  const auto write_one = [&](const char* kind, const std::string& name, const std::string& text) {
    std::error_code error;
    fs::create_directories(place.made / kind, error);
    if (error) {
      throw UserError((place.shown / kind).string(), 0, 0, "cannot be made: " + error.message());
    }
    place.write(fs::path(kind) / name, text);
  };
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (outputs.llvm_ir) {
      write_one("ll", program.kernels[i].name + ".ll", kernels[i].ir);
    }
    if (outputs.assembly) {
      const char* ending = program.target.is_cpu() ? ".s" : ".ptx";
      write_one("asm", program.kernels[i].name + ending, kernels[i].assembly);
    }
  }
}

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      names.push_back(fs::relative(entry.path(), folder));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Outputs parse_outputs(const std::string& text) {
  Outputs outputs;
  outputs.shared_library = outputs.header = false;
  const std::map<std::string, bool Outputs::*> words = {
      {"so", &Outputs::shared_library}, {"a", &Outputs::static_library},
      {"h", &Outputs::header},          {"o", &Outputs::object},
      {"ll", &Outputs::llvm_ir},        {"asm", &Outputs::assembly}};
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    const auto found = words.find(word);
    if (found == words.end()) {
      throw UserError(fmt::format("cannot emit '{}'", word), "known: so, a, h, o, ll, asm");
    }
    outputs.*found->second = true;
  }
  return outputs;
}

Written write(const Program& program, const WriteOptions& options) {
  program.check();
  backend::backend_for(program.target);  // or it says why there is none
  const Sibling sibling(options.directory);
  const fs::path& folder = sibling.path();
  const Destination place{folder, options.directory};
  const Outputs& outputs = options.outputs;
  Written written;
  written.directory = options.directory;

  auto start = std::chrono::steady_clock::now();
  const std::string weights_name = program.name + ".weights";
  auto weights_made = std::async(std::launch::async, [&] {  // mostly waits for the disk
    const auto weights_start = std::chrono::steady_clock::now();
    auto made =
        write_weights(program, folder / weights_name, (options.directory / weights_name).string());
    written.weights_s = seconds_since(weights_start);
    return made;
  });
  const uint64_t needs = cpu_needs(program.target);
  std::vector<CompiledKernel> kernels =
      compile_kernels(program, {options.threads, outputs.llvm_ir, outputs.assembly});
  write_listings(program, kernels, outputs, place);
  const WrittenWeights weights = weights_made.get();
  written.compile_s = seconds_since(start);

  start = std::chrono::steady_clock::now();
  const std::string manifest = manifest_text(program, kernels, needs, weights.sha256);
  if (outputs.shared_library || outputs.static_library || outputs.object) {
    link_all(program,
             archive_of(program, kernels, {manifest, needs, weights.checksum, weights.sha256}),
             outputs, place);
  }
  written.link_s = seconds_since(start);

  if (outputs.header) {
    place.write(program.name + ".h", c_header(program));
  }
  place.write(program.name + ".lock", plan::to_text(program.plan));
  std::vector<FileEntry> entries;
  for (const std::string& name : files_in(folder)) {
    entries.push_back(name == weights_name
                          ? FileEntry{name, weights.file_bytes, hex(weights.file_sha256)}
                          : describe_file(folder, name));
  }
  place.write(program.name + ".json", with_files(manifest, entries));
  written.files = files_in(folder);
  install(folder, options.directory, program.name);
  return written;
}

}  // namespace tenon::artifact
