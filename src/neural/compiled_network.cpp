// SPDX-License-Identifier: Apache-2.0
#include "neural/compiled_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "artifact/write.h"
#include "compile/compile.h"
#include "onnx/import.h"
#include "support/check.h"
#include "support/hash.h"
#include "target/target.h"

namespace tenon::neural {

namespace {

namespace fs = std::filesystem;

artifact::Model compiled(const NetworkSource& source, const fs::path& folder, int threads) {
  compile::Options how;
  how.target = target::host_target();
  how.threads = threads;
  onnx::Imported imported = onnx::import_bytes(source.onnx, "");
  const auto program = compile::compile(std::move(imported.graph), source.name, how);
  artifact::write(program, {folder, artifact::parse_outputs("so"), threads});
  return artifact::Model::load(folder);
}

// A compiled network serves this version on this machine.
fs::path place_of(const NetworkSource& source, const fs::path& cache) {
  const std::string machine = target::to_text(target::host_target());
  Hasher h;
  h.add(std::string_view(source.onnx)).add(std::string_view(machine));
  h.add(std::string_view(TENON_VERSION));
  return cache / fmt::format("{}-{:016x}", source.name, h.value());
}

void remove_all_but_the_newest(const NetworkSource& source, const fs::path& cache) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(cache, failed)) {
    if (!entry.path().filename().string().starts_with(source.name + "-")) continue;
    found.emplace_back(fs::last_write_time(entry.path(), failed), entry.path());
  }
  std::sort(found.rbegin(), found.rend());
  for (size_t i = source.kept; i < found.size(); ++i) fs::remove_all(found[i].second, failed);
}

// Nothing: it cannot be kept there.
std::optional<artifact::Model> cached(const NetworkSource& source, const fs::path& cache,
                                      int threads) {
  const fs::path place = place_of(source, cache);
  std::error_code failed;
  if (fs::exists(place, failed)) {
    try {
      return artifact::Model::load(place);
    } catch (const UserError&) {  // damaged: it is made again
    }
  }
  try {
    fs::create_directories(cache, failed);
    const artifact::Model model = compiled(source, place, threads);
    remove_all_but_the_newest(source, cache);
    return model;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace

CompiledNetwork::CompiledNetwork(std::optional<PrivateFolder> folder, const artifact::Model& model)
    : folder_(std::move(folder)), model_(model) {
  idle_.push_back(std::make_unique<artifact::Session>(model_, 1));  // weights are read now
}

void CompiledNetwork::run(const std::vector<std::vector<float>>& inputs,
                          std::vector<float>& output) const {
  std::vector<const void*> in;
  for (const auto& input : inputs) in.push_back(input.data());
  void* const to = output.data();
  Session session = take();
  session->run(in.data(), &to);
  give_back(std::move(session));
}

CompiledNetwork::Session CompiledNetwork::take() const {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      Session s = std::move(idle_.back());
      idle_.pop_back();
      return s;
    }
  }
  return std::make_unique<artifact::Session>(model_, 1);
}

void CompiledNetwork::give_back(Session s) const {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(s));
}

std::unique_ptr<CompiledNetwork> compile_network(const NetworkSource& source, const fs::path& cache,
                                                 int threads) {
  if (!cache.empty()) {
    if (const auto model = cached(source, cache, threads)) {
      return std::make_unique<CompiledNetwork>(std::nullopt, *model);
    }
  }
  auto folder = PrivateFolder::temporary("network");
  const artifact::Model model = compiled(source, folder.path() / source.name, threads);
  return std::make_unique<CompiledNetwork>(std::move(folder), model);
}

}  // namespace tenon::neural
