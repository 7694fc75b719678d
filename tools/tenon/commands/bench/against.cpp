// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/commands/bench/against.h"

#include <fmt/format.h>

#include "measure/network_compare.h"
#include "runtime/cpus.h"
#include "tools/tenon/helper_tools.h"
#include "tools/tenon/json.h"
#include "tools/tenon/model_program.h"
#include "tools/tenon/model_source.h"
#include "tools/tenon/tensors.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

Json to_json(const measure::NetworkTimes& t, int threads) {
  return {{"schema", "tenon.bench-against/1"},
          {"threads", threads},
          {"turns", t.turns},
          {"a_s", t.a_s},
          {"b_s", t.b_s},
          {"ratio", t.ratio},
          {"low", t.low},
          {"high", t.high},
          {"a_steps_s", t.a_steps_s},
          {"b_steps_s", t.b_steps_s},
          {"difference", t.difference}};
}

std::string to_text(const measure::NetworkTimes& t, const std::string& a, const std::string& b,
                    int threads) {
  return fmt::format(
      "{}  {}\n{}  {}\nratio    {:.3f} ({:.3f} to {:.3f}) in {} pairs of turns, threads {}\n"
      "outputs  differ by {:.2g} at most, relative to the largest\n",
      time_text(t.a_s), a, time_text(t.b_s), b, t.ratio, t.low, t.high, t.turns, threads,
      t.difference);
}

}  // namespace

int bench_against(const ModelBenchOptions& options, const std::string& against,
                  const Console& console) {
  measure::NetworkOptions how;
  how.threads = options.threads.empty() ? runtime::default_threads()
                                        : parse_counts("--threads", options.threads).front();
  how.seconds = options.duration_s;
  const LoadedModel first(options.model, console);
  ModelOptions other = options.model;
  other.path = against;
  const LoadedModel second(other, console);
  how.inputs =
      load_inputs(options.inputs, inputs_at(first.model(), options.model), first.model().dims());
  const std::string a = first.model().directory().string();
  const std::string b = second.model().directory().string();
  const auto timer = measure::network_timer(find_helper_tool("tenon-compare", ""));
  const measure::NetworkTimes times = timer->compare(a, b, how);
  if (!times.error.empty()) throw UserError(times.error);
  console.answer(console.json() ? tools::to_text(to_json(times, how.threads))
                                : to_text(times, a, b, how.threads));
  return 0;
}

}  // namespace tenon::tools
