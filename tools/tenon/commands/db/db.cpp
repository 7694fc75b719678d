// SPDX-License-Identifier: Apache-2.0
// tenon db: the verbs and their options; db_verbs.h says what they do.
#include <unistd.h>

#include <memory>

#include "tools/tenon/command.h"
#include "tools/tenon/commands/db/verbs.h"
#include "tools/tenon/verb.h"

namespace tenon::tools {
namespace {

using Options = DbVerbOptions;

void add_ls(CLI::App& verb, Options& o) {
  verb.add_flag("--runs", o.runs, "List the runs instead of the tasks");
  add_selection_options(verb, o.select);
}

void add_show(CLI::App& verb, Options& o) {
  verb.add_option("name", o.name, "Beginning of a task's key or of a run's id, or a task's label")
      ->required()
      ->type_name("KEY|RUN");
  verb.add_option("--top", o.top, "How many of the best to show")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str()
      ->type_name("N");
  add_selection_options(verb, o.select);
}

void add_best(CLI::App& verb, Options& o) {
  verb.add_option("--lock", o.lock, "Write a lock file that tenon compile --lock takes")
      ->type_name("FILE");
  add_selection_options(verb, o.select);
}

void add_programs(CLI::App& verb, Options& o) {
  verb.add_option("--best", o.best, "How many programs of each task, at most")
      ->check(CLI::Range(1, 100))
      ->capture_default_str()
      ->type_name("N");
  verb.add_option("-o,--output", o.output, "File to write ('-': stdout)")
      ->capture_default_str()
      ->type_name("FILE");
  add_selection_options(verb, o.select);
}

void add_export(CLI::App& verb, Options& o) {
  verb.add_option("file", o.output, "File to write ('-': stdout; packed if it ends in .zst)")
      ->capture_default_str()
      ->type_name("FILE");
  add_selection_options(verb, o.select);
}

void add_import(CLI::App& verb, Options& o) {
  verb.add_option("files", o.files, "Exports ('-': standard input), packed ones too, or databases")
      ->required()
      ->type_name("FILE");
}

void add_prune(CLI::App& verb, Options& o) {
  verb.add_option("--keep", o.keep, "How many of the best to keep, per task, target and protocol")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->capture_default_str()
      ->type_name("N");
  verb.add_flag("--dry-run", o.dry_run, "Only count what would be removed");
  verb.add_flag("-y,--yes", o.yes, "Do not ask");
  add_selection_options(verb, o.select);
}

void add_verify(CLI::App& verb, Options& o) {
  verb.add_flag("--records", o.records,
                "Also compare the best of each task with the reference, on this machine");
  add_selection_options(verb, o.select);
  // Not for people: an empty group is not shown.
  verb.add_option("--build-tool", o.build_tool)->group("");
  verb.add_option("--run-tool", o.run_tool)->group("");
}

void add_stats(CLI::App& verb, Options& o) { add_selection_options(verb, o.select); }

void add_why_miss(CLI::App& verb, Options& o) {
  verb.add_option("name", o.name,
                  "Model ('-': standard input), artifact, or a task of the database")
      ->required()
      ->type_name("MODEL|KEY");
  verb.add_option("--target", o.model.target, "Where the record would be used")
      ->capture_default_str()
      ->type_name("TARGET");
  verb.add_option("--threads", o.threads, "Threads that it would be used with (default: all cores)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  verb.add_flag("--warm-cache", o.warm, "As tenon tune --warm-cache measures");
  verb.add_option("--dims", o.model.dims, "Sizes of named dimensions, such as batch=1,seq=128")
      ->allow_extra_args(false)
      ->type_name("NAME=N,...");
  verb.add_option("--shape", o.model.shapes, "Shapes of inputs, such as x:1x3x224x224")
      ->allow_extra_args(false)
      ->type_name("NAME[SHAPE]");
}

constexpr Verb<Options> kVerbs[] = {
    {"ls", "List tasks with their best times, or runs", add_ls, db_ls},
    {"show", "Show a task with its best schedules, or a run", add_show, db_show},
    {"best", "Show the best verified record of each task, or write them to a lock file", add_best,
     db_best},
    {"programs", "Write the best programs as a table that other tasks begin with", add_programs,
     db_programs},
    {"export", "Write records as JSON lines", add_export, db_export},
    {"import", "Add records of exports; what is there already is not added again", add_import,
     db_import},
    {"merge", "Add all records of other databases", add_import, db_merge},
    {"prune", "Remove failures and all but the best", add_prune, db_prune},
    {"verify", "Check the file, and with --records the best schedules too", add_verify, db_verify},
    {"stats", "Count rows, outcomes, machines and candidates per second", add_stats, db_stats},
    {"why-miss", "Explain field by field why tasks of a model have no usable record", add_why_miss,
     db_why_miss},
};

}  // namespace

Run add_db(CLI::App& command, Console& console) {
  const auto options = std::make_shared<Options>();
  options->ask = isatty(STDIN_FILENO) != 0;
  return add_verbs<Options>(command, kVerbs, options, console);
}

}  // namespace tenon::tools
