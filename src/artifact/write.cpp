// SPDX-License-Identifier: Apache-2.0
#include "artifact/write.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <future>
#include <map>
#include <sstream>

#include "artifact/data_object.h"
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

// A program with all that is made of it.
struct Level {
  const Program& program;
  uint64_t needs = 0;
  std::vector<CompiledKernel> kernels = {};
  std::string manifest = {};
};

void add_tables(const std::vector<Level>& levels, const TableFacts& common,
                std::vector<Member>& members) {
  const std::string& name = levels[0].program.name;
  const auto add = [&](const Level& level, const std::string& member, const TableName& table) {
    TableFacts facts = common;
    facts.manifest = level.manifest;
    facts.needs = level.needs;
    members.push_back(
        {member, backend::compile_ir(table_ir(level.program, level.kernels, facts, table),
                                     host_of(level.program.target))});
  };
  std::vector<std::string> symbols;
  for (size_t i = 0; levels.size() > 1 && i < levels.size(); ++i) {
    symbols.push_back(fmt::format("{}_rt_level{}", name, i));
  }
  for (size_t i = 0; i < symbols.size(); ++i) {
    add(levels[i], symbols[i] + ".o", {symbols[i], symbols});
  }
  add(levels[0], name + "_table.o", {"", symbols});
}

std::string archive_of(std::vector<Level>& levels, const TableFacts& common,
                       const std::string& weights_object) {
  std::vector<Member> members;
  for (Level& level : levels) {
    for (CompiledKernel& kernel : level.kernels) {
      if (!kernel.object.empty()) {
        members.push_back({kernel.symbol + ".o", std::move(kernel.object)});
      }
    }
  }
  const Program& program = levels[0].program;
  add_tables(levels, common, members);
  members.push_back({program.name + "_runtime.o", runtime_object(program)});
  if (!weights_object.empty()) {
    members.push_back({program.name + "_weights.o", weights_object});
  }
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
      {"ll", &Outputs::llvm_ir},        {"asm", &Outputs::assembly},
      {"embed", &Outputs::embed}};
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    const auto found = words.find(word);
    if (found == words.end()) {
      throw UserError(fmt::format("cannot emit '{}'", word), "known: so, a, h, o, ll, asm, embed");
    }
    outputs.*found->second = true;
  }
  return outputs;
}

namespace {

void check_embedded(const Program& program) {
  if (program.weights_bytes <= kMostEmbedded) return;
  throw UserError(
      fmt::format("weights of {:.1f} GB cannot lie inside a library: its code reaches 2 GB",
                  static_cast<double>(program.weights_bytes) * 1e-9),
      "leave `embed` out of --emit: the weights then are a file beside the library");
}

// The weights file becomes an object; nothing where there is none.
std::string embed_weights(const Program& program, const fs::path& file, const std::string& symbol) {
  if (program.weights_bytes == 0) return "";
  std::string bytes(fs::file_size(file), '\0');  // by letters it would take seconds
  std::ifstream in(file, std::ios::binary);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!in) throw UserError(file.string(), 0, 0, "the weights that were written cannot be read");
  fs::remove(file);
  return data_object(host_of(program.target).arch, symbol, bytes);
}

class Writing {
 public:
  Writing(const std::vector<Program>& programs, const WriteOptions& options)
      : best_(programs.back()),
        options_(options),
        sibling_(options.directory),
        place_{sibling_.path(), options.directory},
        weights_name_(best_.name + ".weights") {
    for (const Program& p : programs) {
      p.check();
      backend::backend_for(p.target);  // or it says why there is none
      levels_.push_back({p});
    }
    if (options.outputs.embed) check_embedded(best_);
    written_.directory = options.directory;
  }

  Written write() {
    const auto start = std::chrono::steady_clock::now();
    auto weights_made =
        std::async(std::launch::async, [&] { return write_weights_file(); });  // waits for the disk
    compile();
    const WrittenWeights weights = weights_made.get();
    written_.compile_s = seconds_since(start);
    link(weights);
    write_texts(weights);
    written_.files = files_in(place_.made);
    install(place_.made, options_.directory, best_.name);
    return std::move(written_);
  }

 private:
  WrittenWeights write_weights_file() {
    const auto start = std::chrono::steady_clock::now();
    auto made = write_weights(best_, place_.made / weights_name_,
                              (options_.directory / weights_name_).string());
    written_.weights_s = seconds_since(start);
    return made;
  }

  void compile() {
    const Outputs& o = options_.outputs;
    for (Level& level : levels_) {
      level.needs = cpu_needs(level.program.target);
      level.kernels = compile_kernels(level.program, {options_.threads, o.llvm_ir, o.assembly});
      write_listings(level.program, level.kernels, o, place_);
    }
  }

  void link(const WrittenWeights& weights) {
    const auto start = std::chrono::steady_clock::now();
    const Outputs& o = options_.outputs;
    for (Level& level : levels_) {
      level.manifest =
          manifest_text(level.program, level.kernels, level.needs, weights.sha256, o.embed);
    }
    TableFacts facts{"", 0, weights.checksum, weights.sha256};
    std::string object;
    if (o.embed) {
      const std::string symbol = best_.name + "_rt_weights";
      object = embed_weights(best_, place_.made / weights_name_, symbol);
      if (!object.empty()) facts.weights = symbol;
    }
    if (o.shared_library || o.static_library || o.object) {
      link_all(best_, archive_of(levels_, facts, object), o, place_);
    }
    written_.link_s = seconds_since(start);
  }

  std::string lock_text() const {
    std::vector<plan::NetworkPlan> plans;
    for (const Level& level : levels_) plans.push_back(level.program.plan);
    return plan::to_text(plans);
  }

  void write_texts(const WrittenWeights& weights) {
    if (options_.outputs.header) {
      place_.write(best_.name + ".h", c_header(best_));
      place_.write(best_.name + ".hpp", cpp_header(best_));
    }
    place_.write(best_.name + ".lock", lock_text());
    std::vector<FileEntry> entries;
    for (const std::string& name : files_in(place_.made)) {
      entries.push_back(name == weights_name_
                            ? FileEntry{name, weights.file_bytes, hex(weights.file_sha256)}
                            : describe_file(place_.made, name));
    }
    std::vector<std::string> manifests;
    for (const Level& level : levels_) manifests.push_back(level.manifest);
    place_.write(best_.name + ".json", with_files(with_levels(manifests), entries));
  }

  std::vector<Level> levels_;
  const Program& best_;
  const WriteOptions& options_;
  const Sibling sibling_;
  const Destination place_;
  const std::string weights_name_;
  Written written_;
};

}  // namespace

Written write(const std::vector<Program>& levels, const WriteOptions& options) {
  return Writing(levels, options).write();
}

Written write(const Program& program, const WriteOptions& options) {
  return write(std::vector<Program>{program}, options);
}

}  // namespace tenon::artifact
