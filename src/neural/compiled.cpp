// SPDX-License-Identifier: Apache-2.0
#include "neural/compiled.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "artifact/model.h"
#include "artifact/write.h"
#include "compile/compile.h"
#include "onnx/import.h"
#include "support/check.h"
#include "support/hash.h"
#include "support/private_folder.h"
#include "target/target.h"

namespace tenon::neural {

namespace {

namespace fs = std::filesystem;

constexpr size_t kKept = 4;  // networks in a cache: a model is renewed with every run

class CompiledScorer : public cost::TreeScorer {
 public:
  CompiledScorer(std::optional<PrivateFolder> folder, const artifact::Model& model, int64_t columns,
                 const TreeForm& form)
      : folder_(std::move(folder)), model_(model), columns_(columns), form_(form) {
    idle_.push_back(std::make_unique<artifact::Session>(model_, 1));  // weights are read now
  }

  std::vector<float> score(std::span<const cost::Row> rows) const override {
    std::vector<float> out;
    auto session = take();
    const auto batch = static_cast<size_t>(form_.batch);
    for (size_t i = 0; i < rows.size(); i += batch) {
      const auto some = rows.subspan(i, std::min(batch, rows.size() - i));
      const auto inputs = tree_inputs(some, columns_, form_);
      std::vector<const void*> in;
      for (const auto& input : inputs) in.push_back(input.data());
      std::vector<float> scores(batch);
      void* const to = scores.data();
      session->run(in.data(), &to);
      out.insert(out.end(), scores.begin(),
                 scores.begin() + static_cast<std::ptrdiff_t>(some.size()));
    }
    give_back(std::move(session));
    return out;
  }

 private:
  using Session = std::unique_ptr<artifact::Session>;

  // A session is for one thread at a time.
  Session take() const {
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
  void give_back(Session s) const {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(s));
  }

  std::optional<PrivateFolder> folder_;  // outlives the model that lies in it
  artifact::Model model_;
  int64_t columns_;
  TreeForm form_;
  mutable std::mutex mutex_;
  mutable std::vector<Session> idle_;
};

artifact::Model compiled(const std::string& onnx, const fs::path& folder, int threads) {
  compile::Options how;
  how.target = target::host_target();
  how.threads = threads;
  onnx::Imported imported = onnx::import_bytes(onnx, "");
  const auto program = compile::compile(std::move(imported.graph), "treegru", how);
  artifact::write(program, {folder, artifact::parse_outputs("so"), threads});
  return artifact::Model::load(folder);
}

// A compiled network serves this version on this machine.
fs::path place_of(const fs::path& cache, const std::string& onnx) {
  const std::string machine = target::to_text(target::host_target());
  Hasher h;
  h.add(std::string_view(onnx)).add(std::string_view(machine)).add(std::string_view(TENON_VERSION));
  return cache / fmt::format("treegru-{:016x}", h.value());
}

void remove_all_but_the_newest(const fs::path& cache) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(cache, failed)) {
    if (!entry.path().filename().string().starts_with("treegru-")) continue;
    found.emplace_back(fs::last_write_time(entry.path(), failed), entry.path());
  }
  std::sort(found.rbegin(), found.rend());
  for (size_t i = kKept; i < found.size(); ++i) fs::remove_all(found[i].second, failed);
}

// Nothing: it cannot be kept there.
std::optional<artifact::Model> cached(const std::string& onnx, const CompileNetworks& how) {
  const fs::path place = place_of(how.cache, onnx);
  std::error_code failed;
  if (fs::exists(place, failed)) {
    try {
      return artifact::Model::load(place);
    } catch (const UserError&) {  // damaged: it is made again
    }
  }
  try {
    fs::create_directories(how.cache, failed);
    const artifact::Model model = compiled(onnx, place, how.threads);
    remove_all_but_the_newest(how.cache);
    return model;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace

cost::MakeTreeScorer compiled_tree_scorers(const CompileNetworks& how) {
  return [how](const cost::TreeNetwork& network,
               cost::Keep keep) -> std::unique_ptr<cost::TreeScorer> {
    const std::string onnx = tree_onnx(network, how.form);
    const int64_t columns = network.sizes.columns;
    if (keep == cost::Keep::kForOthers && !how.cache.empty()) {
      if (const auto model = cached(onnx, how)) {
        return std::make_unique<CompiledScorer>(std::nullopt, *model, columns, how.form);
      }
    }
    auto folder = PrivateFolder::temporary("network");
    const artifact::Model model = compiled(onnx, folder.path() / "treegru", how.threads);
    return std::make_unique<CompiledScorer>(std::move(folder), model, columns, how.form);
  };
}

}  // namespace tenon::neural
