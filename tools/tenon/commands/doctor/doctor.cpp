// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gnu/libc-version.h>

#include <memory>

#include "target/target.h"
#include "tenon/runtime.h"
#include "timing/calibrate.h"
#include "timing/machine.h"
#include "timing/machine_state.h"
#include "tools/tenon/calibration.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/doctor/gpu_state.h"
#include "tools/tenon/json.h"

namespace tenon::tools {
namespace {

using timing::Fact;
using timing::Health;

std::string rates_text(const target::Rates& r) {
  return fmt::format(
      "{:.1f} flops of a core for a byte from memory, {:.2f} for one of its own cache; {} cores "
      "read "
      "{:.1f} times what one reads",
      r.flops_per_byte, r.flops_per_cached_byte, r.bandwidth_cores,
      1 + r.bandwidth_per_core * (r.bandwidth_cores - 1));
}

// What algorithms are chosen by, and whether it was measured here.
Fact rates() {
  const target::Target host = target::host_target();
  if (const auto c = saved_calibration())
    return {"rates", rates_text(timing::rates_of(*c)) + ", measured"};
  const bool known = target::known_rates(host.machine).has_value();
  return {"rates", rates_text(host.cpu().rates) + (known ? ", of this processor" : ", a guess"),
          known ? Health::kGood : Health::kUnknown,
          known ? "" : "tenon doctor --calibrate measures them in some seconds"};
}

std::vector<Fact> versions() {
  return {{"tenon", TENON_VERSION},
          {"LLVM", TENON_LLVM_VERSION},
          {"C library", fmt::format("glibc {}", gnu_get_libc_version())},
          {"target", target::host_target().fingerprint()}};
}

// How long an empty parallel loop takes: 2, 4, 8 .. threads and all CPUs, the best of many.
Fact fork_and_join() {
  const int cpus = static_cast<int>(timing::usable_cpus().size());
  std::string text;
  for (int threads = 2; threads <= cpus;
       threads = 2 * threads > cpus && threads < cpus ? cpus : 2 * threads) {
    const tenon_runtime* rt = tenon_runtime_create(threads);
    if (rt == nullptr) break;
    text += fmt::format("{}{} threads {:.2f} us", text.empty() ? "" : ", ", threads,
                        timing::fork_join_us(rt));
    tenon_runtime_destroy(rt);
  }
  return {"fork", text.empty() ? "one CPU, no threads to fork" : text};
}

std::string_view word(Health health) {
  return health == Health::kGood         ? "good"
         : health == Health::kDisturbing ? "disturbing"
                                         : "unknown";
}

std::string to_text(const std::vector<Fact>& facts, bool hints) {
  std::string text;
  int disturbing = 0;
  for (const Fact& fact : facts) {
    const char mark = fact.health == Health::kDisturbing ? '!'
                      : fact.health == Health::kUnknown  ? '?'
                                                         : ' ';
    text += fmt::format("{} {:<11} {}\n", mark, fact.name, fact.value);
    if (hints && !fact.hint.empty()) {
      text += fmt::format("  {:<11}   hint: {}\n", "", fact.hint);
    }
    disturbing += fact.health == Health::kDisturbing ? 1 : 0;
  }
  return text + (disturbing == 0 ? "nothing here disturbs measurements\n"
                                 : fmt::format("{} thing{} marked ! can disturb measurements\n",
                                               disturbing, disturbing == 1 ? "" : "s"));
}

Json to_json(const std::vector<Fact>& facts) {
  Json list = Json::array();
  Json warnings = Json::array();
  for (const Fact& fact : facts) {
    list.push_back({{"name", fact.name},
                    {"value", fact.value},
                    {"health", word(fact.health)},
                    {"hint", fact.hint}});
    if (fact.health == Health::kDisturbing) {
      warnings.push_back(fact.name);
    }
  }
  return {{"schema", "tenon.doctor/1"}, {"facts", list}, {"warnings", warnings}};
}

}  // namespace

Run add_doctor(CLI::App& command, Console& console) {
  const auto no_hints = std::make_shared<bool>(false);
  const auto measures = std::make_shared<bool>(false);
  command.add_flag("--no-hints", *no_hints, "Facts alone");
  command.add_flag("--calibrate", *measures,
                   "Measure how fast data moves beside arithmetic, which algorithms are chosen by, "
                   "and keep it for later commands (some seconds, on a quiet machine)");
  const auto threads = std::make_shared<bool>(false);
  command.add_flag("--threads", *threads, "Also measure how long threads take to fork and join");
  return [&console, no_hints, measures, threads] {
    if (*measures) {
      make_calibration_folder();  // before the work: there may be no place
      save(timing::calibrate());
    }
    std::vector<Fact> facts = timing::examine_this_machine();
    if (*threads) facts.push_back(fork_and_join());
    for (const std::vector<Fact>& more : {examine_gpu(), {rates()}, versions()})
      facts.insert(facts.end(), more.begin(), more.end());
    console.answer(console.json() ? tools::to_text(to_json(facts)) : to_text(facts, !*no_hints));
    return kExitOk;
  };
}

}  // namespace tenon::tools
