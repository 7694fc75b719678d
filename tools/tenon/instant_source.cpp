// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/instant_source.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "files/file.h"
#include "history/program_table.h"
#include "neural/compiled.h"
#include "support/check.h"
#include "tools/tenon/db_source.h"
#include "tools/tenon/helper_tools.h"

namespace tenon::tools {
namespace {

namespace fs = std::filesystem;

// Compiled networks lie beside the default database; nowhere to keep them: they are compiled each time.
fs::path network_cache() try {
  return fs::path(default_db_file()).parent_path() / "networks";
} catch (const UserError&) {
  return {};
}

std::string find_file(const std::string& given, const target::Target& target) {
  if (!given.empty()) return given;
  return (program_folder().parent_path() / "share" / "tenon" / "models" /
          (history::table_name(target) + ".value"))
      .string();
}

std::vector<history::KnownTask> known_tasks(const target::Target& target) {
  const std::string file = find_programs("", target);
  return file.empty() ? std::vector<history::KnownTask>{}
                      : history::read_table(files::read_file(file)).tasks;
}

int threads_of(int threads) {
  return threads > 0 ? threads
                     : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace

std::shared_ptr<const value::Instant> find_instant(const InstantSource& from,
                                                   const target::Target& target,
                                                   const Console& console) try {
  const std::string file = find_file(from.file, target);
  value::ValueModel model = value::model_from_bytes(files::read_file(file));
  neural::CompileNetworks how;
  how.cache = network_cache();
  how.threads = threads_of(from.threads);
  value::InstantOptions options;
  options.beam.width = from.width;
  options.space = from.space;
  return std::make_shared<const value::Instant>(
      value::ValueFunction(std::move(model), neural::compiled_rows_scorers(how)),
      known_tasks(target), options);
} catch (const UserError& e) {
  console.warn(fmt::format("no value function for {}: {}; schedules are the templates'",
                           history::table_name(target), e.what()));
  return nullptr;
}

std::function<std::vector<plan::KnownProgram>(const task::Task&)> instant_programs(
    std::shared_ptr<const value::Instant> instant) {
  if (instant == nullptr) return nullptr;
  struct Known {
    std::mutex mutex;
    std::map<std::string, std::vector<plan::KnownProgram>> programs;  // by key of the task
  };
  // A plan asks again where a program was not accurate enough.
  return [instant, known = std::make_shared<Known>()](const task::Task& t) {
    {
      const std::lock_guard lock(known->mutex);
      if (const auto it = known->programs.find(t.key); it != known->programs.end()) {
        return it->second;
      }
    }
    std::vector<plan::KnownProgram> out;
    const auto chosen = instant->choose(t);
    if (chosen && !chosen->is_rule()) {
      out.push_back({chosen->taken.look.program.trace, plan::From::kInstant});
      for (const value::Found& f : chosen->others) {
        if (instant->gain(f, chosen->by_rule) > 0)
          out.push_back({f.look.program.trace, plan::From::kInstant});
      }
    }
    const std::lock_guard lock(known->mutex);
    return known->programs.emplace(t.key, std::move(out)).first->second;
  };
}

}  // namespace tenon::tools
