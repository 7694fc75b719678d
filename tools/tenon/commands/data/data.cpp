// SPDX-License-Identifier: Apache-2.0
// tenon data: the verbs and their options; verbs.h says what they do.
#include "cost/model.h"
#include "history/train.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/data/verbs.h"
#include "tools/tenon/verb.h"

namespace tenon::tools {
namespace {

using Options = DataVerbOptions;

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const cost::ModelRow& row : cost::models()) names.emplace_back(row.name);
  return names;
}

void add_files(CLI::App& verb, Options& o) {
  verb.add_option("files", o.files,
                  "Exports ('-': standard input), packed ones too, or databases (default: --db)")
      ->type_name("FILE");
  add_machine_options(verb, o.select);
}

void add_per_task(CLI::App& verb, Options& o) {
  verb.add_option("--per-task", o.per_task, "Programs of each task that are read, at most")
      ->check(CLI::Range(size_t{2}, size_t{1} << 30))
      ->capture_default_str()
      ->type_name("N");
}

void add_score(CLI::App& verb, Options& o) {
  add_files(verb, o);
  verb.add_option("--cost-model", o.cost_models, "Which kinds of models, such as xgb,tlp")
      ->delimiter(',')
      ->check(CLI::IsMember(model_names()))
      ->allow_extra_args(false)
      ->capture_default_str();
  verb.add_option("--holdout-models", o.networks,
                  "ONNX files whose tasks are held out (default: one task in five, by its key)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("FILE,...");
  verb.add_option("--fold", o.fold,
                  "Which of five parts of the tasks is held out, without --holdout-models")
      ->check(CLI::Range(uint64_t{0}, history::kFolds - 1))
      ->capture_default_str()
      ->type_name("N");
  verb.add_option("--learn-from", o.learn_from,
                  "Exports or databases whose records alone are learned (default: all)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("FILE,...");
  verb.add_option("--records", o.records,
                  "Records to learn from, at most, as tenon model train picks them (default: all)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->type_name("N");
  verb.add_option("--seed", o.seed, "Of training")->capture_default_str()->type_name("N");
  add_per_task(verb, o);
}

void add_encode(CLI::App& verb, Options& o) {
  add_files(verb, o);
  verb.add_option("--cost-model", o.cost_model, "Whose view of programs is written")
      ->check(CLI::IsMember(model_names()))
      ->capture_default_str();
  verb.add_option("-o,--output", o.output, "File to write, .npz")->required()->type_name("FILE");
  add_per_task(verb, o);
}

constexpr Verb<Options> kVerbs[] = {
    {"ls", "Count what is there: machines, kinds of tasks, programs, failures", add_files, data_ls},
    {"check", "Say whether the records can be learned from, and what is wrong with them", add_files,
     data_check},
    {"agree", "Say how well two files with times of the same programs agree", add_files,
     data_agree},
    {"score", "Train models on a part of the tasks and rank the programs of the others", add_score,
     data_score},
    {"encode", "Write what a model sees of all programs as numpy arrays", add_encode, data_encode},
};

}  // namespace

std::unique_ptr<db::Database> open_data(const DataVerbOptions& o) {
  return o.files.empty() ? open_db_to_read(o.db) : open_files(o.files);
}

std::unique_ptr<db::Database> open_files(const std::vector<std::string>& files) {
  if (files.size() == 1) return open_records(files[0]);
  std::vector<db::Rows> parts;
  for (const std::string& file : files) parts.push_back(read_records(file));
  auto db = db::Database::open(":memory:");
  db->add(parts);
  return db;
}

history::Limits limits_of(const DataVerbOptions& o) {
  return {.per_task = o.per_task, .total = SIZE_MAX, .least = 16, .threads = 0};
}

Run add_data(CLI::App& command, Console& console) {
  return add_verbs<Options>(command, kVerbs, std::make_shared<Options>(), console);
}

}  // namespace tenon::tools
