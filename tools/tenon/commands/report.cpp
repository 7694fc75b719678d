// SPDX-License-Identifier: Apache-2.0
// tenon report: what a tuning run did, as a page, as Markdown or as JSON.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "db/find_run.h"
#include "files/file.h"
#include "report/network/network_records.h"
#include "report/run/html.h"
#include "report/run/json.h"
#include "report/run/markdown.h"
#include "support/text.h"
#include "tools/tenon/command.h"
#include "tools/tenon/db_source.h"
#include "tools/tenon/network_source.h"

namespace tenon::tools {
namespace {

constexpr const char* kStdout = "-";
constexpr const char* kBareFlag = "true";  // what the parser makes of --md without a file

struct ReportOptions {
  DbOptions db;
  std::string run = "last";
  std::string html, markdown;
};

// To a file, or as the answer; a command has one answer only.
void hand_out(const std::string& file, const std::string& text, const Console& console) {
  if (file == kStdout) {
    console.answer(text);
    return;
  }
  files::write_file(file, text);
  console.note(fmt::format("wrote    {} ({})", file, bytes_text(static_cast<double>(text.size()))));
}

// Whatever artifact lies where the run wrote its own; one that is gone, or of an older version, has
// no picture.
void add_pictures(report::RunStory& story, const db::Database& db, const Console& console) {
  for (report::ModelStory& m : story.models) {
    if (m.directory.empty() || !std::filesystem::exists(m.directory)) continue;
    try {
      m.picture = read_network(m.directory);
      add_records(*m.picture, db, story.target, story.protocol);
    } catch (const UserError& e) {
      console.info(fmt::format("no picture of {}: {}", m.directory, e.what()));
    }
  }
}

int report_command(ReportOptions& options, const Console& console) {
  if (options.markdown == kBareFlag) options.markdown = kStdout;
  const int answers = (options.html == kStdout ? 1 : 0) + (options.markdown == kStdout ? 1 : 0) +
                      (console.json() ? 1 : 0);
  if (answers > 1) {
    throw UserError("only one of --html, --md and --json can go to standard output",
                    "give the others a file");
  }
  const auto db = open_db_to_read(options.db);
  report::RunStory story = report::read_story(*db, db::find_run(*db, options.run));
  add_pictures(story, *db, console);
  if (!options.html.empty()) hand_out(options.html, report::to_html(story), console);
  if (!options.markdown.empty()) hand_out(options.markdown, report::to_markdown(story), console);
  if (console.json()) {
    console.answer(report::to_json(story));
  } else if (options.html.empty() && options.markdown.empty()) {
    console.answer(report::to_markdown(story));
  }
  return kExitOk;
}

}  // namespace

Run add_report(CLI::App& command, Console& console) {
  const auto options = std::make_shared<ReportOptions>();
  command
      .add_option("run", options->run,
                  "Id of the run, or how it begins, or 'last'; tenon db ls --runs lists them")
      ->capture_default_str();
  command.add_option("--html", options->html, "Write one page that needs nothing else")
      ->type_name("FILE");
  command
      .add_flag("--md", options->markdown,
                "Markdown on standard output, or with --md=FILE in a file (default without --html)")
      ->type_name("FILE");
  add_db_option(command, options->db);
  return [options, &console] { return report_command(*options, console); };
}

}  // namespace tenon::tools
