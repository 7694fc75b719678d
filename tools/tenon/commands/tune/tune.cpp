// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>

#include "support/private_folder.h"
#include "timing/machine_state.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/tune/display.h"
#include "tools/tenon/commands/tune/options.h"
#include "tools/tenon/commands/tune/plan.h"
#include "tools/tenon/commands/tune/report.h"
#include "tools/tenon/commands/tune/warnings.h"
#include "tools/tenon/helper_tools.h"
#include "tools/tenon/instant_source.h"
#include "tools/tenon/interrupt.h"
#include "tools/tenon/text.h"
#include "tune/pretend_timer.h"

namespace tenon::tools {
namespace {

namespace fs = std::filesystem;

// What a candidate is timed on, and whole networks.
struct Devices {
  std::unique_ptr<measure::Measurer> measurer;
  std::unique_ptr<measure::NetworkTimer> networks;
};

// On the pretend device time goes by with the questions after it, so that all of a run is the same
// every time.
tune::Clock pretend_clock() {
  const auto ticks = std::make_shared<int64_t>(0);
  return [ticks] { return 1e-3 * static_cast<double>(++*ticks); };
}

Devices make_devices(const TuneOptions& o) {
  Devices d;
  if (o.sim) {
    measure::SimOptions sim;
    sim.seed = o.seed;
    sim.protocol = protocol_of(o);
    d.measurer = measure::sim_measurer(sim);
    d.networks = tune::pretend_timer(*d.measurer);
    return d;
  }
  d.measurer = measure::device_measurer(device_options(o));
  d.networks = measure::network_timer(find_helper_tool("tenon-compare", ""));
  return d;
}

// What `tenon doctor` says about how steady times will be, each fact by the first word of its
// value.
std::string doctor_line() {
  constexpr std::string_view kFacts[] = {"governor", "turbo", "smt", "load", "quota", "virtual"};
  std::string line = "doctor  ";
  for (const timing::Fact& f : timing::examine_this_machine()) {
    const bool wanted = std::find(std::begin(kFacts), std::end(kFacts), f.name) != std::end(kFacts);
    if (f.health == timing::Health::kDisturbing || (wanted && f.health == timing::Health::kGood)) {
      line += fmt::format(" {}={}{}", f.name, f.value.substr(0, f.value.find_first_of(" :,")),
                          f.health == timing::Health::kDisturbing ? "(!)" : "");
    }
  }
  return line;
}

// For the report of the run.
std::vector<std::string> disturbances() {
  std::vector<std::string> out;
  for (const timing::Fact& f : timing::examine_this_machine()) {
    if (f.health == timing::Health::kDisturbing)
      out.push_back(fmt::format("{}: {}", f.name, f.value));
  }
  return out;
}

int dry_run(const TuneOptions& o, const std::vector<tune::Model>& models,
            const tune::SessionOptions& session, const Console& console) {
  std::unique_ptr<db::Database> db;
  if (std::error_code ignored; fs::exists(db_file(o.db), ignored)) {
    db = open_db_to_read(o.db);
  }
  const std::string target = o.sim ? make_devices(o).measurer->target(session.compile.target)
                                   : measure::measured_target(session.compile.target);
  const TunePlan plan =
      make_plan(models, session, db.get(), target, task::to_string(protocol_of(o)));
  console.answer(console.json() ? tools::to_text(to_json(plan)) : to_text(plan));
  return kExitOk;
}

// Some task has a time that counts, of this run or of an earlier one.
bool has_valid(const tune::Summary& s) {
  return std::any_of(s.tasks.begin(), s.tasks.end(), [](const tune::TaskResult& r) {
    return r.best_s > 0 && std::isfinite(r.best_s);
  });
}

// Nothing that was tried ran: why, and how to see it again.
int complain(const TuneOptions& o, const tune::Summary& s, const db::Database& db, Json& document,
             const Console& console) {
  console.error("error", s.measured == 0
                             ? std::string("nothing was measured: the run ended before")
                             : fmt::format("nothing valid was measured: {} of {} failed",
                                           grouped(s.failed), grouped(s.measured)));
  const fs::path folder = fs::path(db_file(o.db)).parent_path() / "failed" / s.run;
  document["reasons"] = Json::array();
  for (const Reproducer& r : write_reproducers(s.reasons, db, folder, protocol_of(o).threads)) {
    console.note(fmt::format("{}  {} times, first in {} {}: {}", r.reason.outcome, r.reason.count,
                             r.label, r.reason.task, r.reason.error));
    console.note("  reproduce: " + r.command);
    document["reasons"].push_back({{"outcome", r.reason.outcome},
                                   {"count", r.reason.count},
                                   {"task", r.reason.task},
                                   {"error", r.reason.error},
                                   {"command", r.command}});
  }
  return kExitNoMeasurement;
}

int conclude(const TuneOptions& o, const tune::SessionOptions& session, const tune::Summary& s,
             const TuneProgress& progress, const db::Database& db, const Console& console) {
  Json document = summary_json(s, progress, session);
  int code = kExitOk;
  if (s.reason == "interrupted") {
    code = kExitInterrupted;
  } else if (!has_valid(s)) {
    code = complain(o, s, db, document, console);
  }
  if (console.json()) {
    console.answer(tools::to_text(document));
  } else if (!o.jsonl) {
    console.answer(summary_text(s, progress));
  }
  if (!s.history.empty()) {
    console.warn(s.history);
  }
  if (code == kExitInterrupted) {
    console.note(fmt::format("saved; run the same command again to continue ({})",
                             what_is_left(s, session)));
  }
  return code;
}

void say_before(const TuneOptions& o, const tune::SessionOptions& session, const Console& console) {
  if (!o.sim) {
    console.note(doctor_line());
  }
  if (o.budget.empty() && o.trials == 0) {
    console.note(fmt::format("budget   {} (--budget or --trials sets another end)",
                             duration_text(session.budget_s)));
  }
  console.note("records  " + db_file(o.db));
}

int tune_models(const TuneOptions& o, std::vector<tune::Model> models, tune::SessionOptions session,
                const Devices& devices, const Interrupt& interrupt, const Console& console) {
  const auto stop = [&] { return interrupt.asked(); };
  TuneDisplay display(console, stop);
  const auto say = [&](const std::string& text) { display.warn(text); };
  const auto db = open_db(o.db, wait_for_writer(o.db, say, stop));
  say_before(o, session, console);
  session.compile.warn = [&, said = std::set<std::string>()](const std::string& text) mutable {
    if (said.insert(text).second) {
      say(text);
    }
  };
  TuneWarnings warnings;
  const auto tell = [&](const std::string& event) {
    display.take(event);
    if (const auto line = history_line(event)) {
      display.note(*line);
    }
    if (const auto warning = warnings.take(event)) {
      say(*warning);
    }
    if (o.jsonl) {
      console.answer(event);
    }
  };
  tune::Session run(std::move(models), session, *devices.measurer, *devices.networks, *db, tell);
  const tune::Summary summary = run.run(stop);
  display.finish();
  return conclude(o, session, summary, display.progress(), *db, console);
}

int tune_command(const TuneOptions& o, const Console& console) {
  if (o.jsonl && console.json()) {
    throw UserError("--json and --jsonl exclude each other");
  }
  temporary_place();  // said before the work, not after it
  tune::SessionOptions session = session_options(o);
  session.programs = known_programs(o, console);
  session.compile.known = shipped_programs(session.compile.target);
  if (!o.value.empty()) {
    InstantSource from;
    from.file = o.value == "shipped" ? "" : o.value;
    from.space = session.tuner.space;
    session.tuner.instant = find_instant(from, session.compile.target, console);
  }
  std::vector<tune::Model> models = import_models(o, console);
  if (o.dry_run) {
    return dry_run(o, models, session, console);
  }
  session.command = command_text(o, models);
  if (o.sim) {
    session.tuner.clock = pretend_clock();
  } else {
    session.disturbed = disturbances();
  }
  const Devices devices = make_devices(o);
  const Interrupt interrupt;
  try {
    return tune_models(o, std::move(models), session, devices, interrupt, console);
  } catch (const db::Busy&) {
    if (!interrupt.asked()) {
      throw;
    }
    console.note("interrupted while another process wrote; what was recorded is safe");
    return kExitInterrupted;
  }
}

}  // namespace

Run add_tune(CLI::App& command, Console& console) {
  const auto options = std::make_shared<TuneOptions>();
  add_tune_options(command, *options);
  return [options, &console] { return tune_command(*options, console); };
}

}  // namespace tenon::tools
