// SPDX-License-Identifier: Apache-2.0
// A command with verbs, such as `tenon db`: one row per verb, all with options of one type.
//
//   constexpr Verb<Options> kVerbs[] = {{"ls", "List tasks", add_ls, db_ls}};
//   return add_verbs<Options>(command, kVerbs, options, console);
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <span>

#include "tools/tenon/command.h"
#include "tools/tenon/console.h"
#include "tools/tenon/db_source.h"

namespace tenon::tools {

template <class Options>
struct Verb {
  const char* name;
  const char* summary;
  void (*add)(CLI::App& verb, Options& options);
  int (*run)(const Options& options, const Console& console);
};

// Every verb works on a database, `options->db`. The rows must outlive the answer.
template <class Options>
Run add_verbs(CLI::App& command, std::span<const Verb<Options>> rows,
              const std::shared_ptr<Options>& options, const Console& console) {
  command.require_subcommand(1);
  std::map<const CLI::App*, const Verb<Options>*> verbs;
  for (const Verb<Options>& verb : rows) {
    CLI::App* app = command.add_subcommand(verb.name, verb.summary);
    add_db_option(*app, options->db);
    verb.add(*app, *options);
    verbs[app] = &verb;
  }
  return [&command, options, verbs, &console] {
    return verbs.at(command.get_subcommands().front())->run(*options, console);
  };
}

}  // namespace tenon::tools
