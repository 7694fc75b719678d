// SPDX-License-Identifier: Apache-2.0
// tenon model: the verbs and their options; model_verbs.h says what they do.
#include <memory>
#include <string>
#include <vector>

#include "cost/model.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/model/verbs.h"
#include "tools/tenon/verb.h"

namespace tenon::tools {
namespace {

using Options = ModelVerbOptions;

void add_cost_model(CLI::App& verb, Options& o) {
  std::vector<std::string> names;
  for (const cost::ModelRow& row : cost::models()) names.emplace_back(row.name);
  verb.add_option("--cost-model", o.cost_model, "Which kind of model")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
}

void add_ls(CLI::App& verb, Options& o) { add_machine_options(verb, o.select); }

void add_train(CLI::App& verb, Options& o) {
  add_cost_model(verb, o);
  add_machine_options(verb, o.select);
  verb.add_option(
          "--also", o.also,
          "Learn from these machines too, with an output for each (--cost-model tlp): parts of "
          "their names, each with '; ' and a part of the protocol where it has several")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("TARGET,...");
  verb.add_option("--labels", o.labels,
                  "Share of the machine's own times to learn from (--cost-model tlp)")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str()
      ->type_name("X");
  verb.add_option("--records", o.records,
                  "Records to learn from, at most (default: 10,000; tlp: all)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->type_name("N");
}

void add_score(CLI::App& verb, Options& o) {
  verb.add_option("file", o.file,
                  "A trained model (default: one that is trained on tasks that are not held out)")
      ->type_name("FILE");
  add_cost_model(verb, o);
  add_machine_options(verb, o.select);
}

void add_export(CLI::App& verb, Options& o) {
  verb.add_option("file", o.file, "File to write ('-': stdout)")->required()->type_name("FILE");
  add_cost_model(verb, o);
  add_machine_options(verb, o.select);
}

void add_value(CLI::App& verb, Options& o) {
  verb.add_option("file", o.file, "File to write (default: none; only what held-out tasks say)")
      ->type_name("FILE");
  verb.add_option("--beginnings", o.beginnings,
                  "Partial programs to learn from, of each program; 0: whole programs alone")
      ->check(CLI::Range(0, 64))
      ->capture_default_str()
      ->type_name("N");
  verb.add_option("--epochs", o.epochs, "How often all are learned")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str()
      ->type_name("N");
  verb.add_option("--width", o.width, "Of the network")
      ->check(CLI::IsMember({16, 32, 64, 128, 256}))
      ->capture_default_str()
      ->type_name("N");
  verb.add_flag("--rank", o.rank, "Learn the order of programs, not how much worse each is");
  verb.add_option("--seed", o.seed, "Of first weights and draws")
      ->capture_default_str()
      ->type_name("N");
  add_machine_options(verb, o.select);
}

constexpr Verb<Options> kVerbs[] = {
    {"ls", "List models: what they learned from, how good and how old they are", add_ls, model_ls},
    {"train", "Train models on all records of the database, now", add_train, model_train},
    {"score", "Say how well a model ranks programs of tasks that it did not learn from", add_score,
     model_score},
    {"export", "Write a model to a file that tenon tune --cost-model takes anywhere", add_export,
     model_export},
    {"value", "Train a value function, which finds good programs without measuring", add_value,
     model_value},
};

}  // namespace

Run add_model(CLI::App& command, Console& console) {
  const auto options = std::make_shared<Options>();
  return add_verbs<Options>(command, kVerbs, options, console);
}

}  // namespace tenon::tools
