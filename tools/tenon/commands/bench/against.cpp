// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/commands/bench/against.h"

#include <fmt/format.h>

#include <map>

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

using Sizes = std::map<std::string, int64_t>;  // of open dimensions

Sizes sizes_of(const artifact::Model& model, const std::vector<ir::Array>& inputs) {
  Sizes sizes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<int32_t>& dims = model.inputs()[i].dims;
    for (size_t a = 0; a < dims.size(); ++a) {
      if (dims[a] >= 0)
        sizes[model.dims()[static_cast<size_t>(dims[a])].name] = inputs[i].shape()[a];
    }
  }
  return sizes;
}

// Sizes that are asked for are looked up where they are open. Otherwise a network of one size decides, and of two with open
// ones the first. The comparison says whether the other takes them.
bool second_has_the_sizes(const artifact::Model& first, const artifact::Model& second,
                          const ModelOptions& options) {
  const bool asked = !options.dims.empty() || !options.shapes.empty();
  return asked ? first.dims().empty() : !first.dims().empty() && second.dims().empty();
}

Json to_json(const measure::NetworkTimes& t, int threads, const Sizes& sizes) {
  return {{"schema", "tenon.bench-against/1"},
          {"threads", threads},
          {"sizes", sizes},
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
                    int threads, const Sizes& sizes) {
  std::string at;
  for (const auto& [name, size] : sizes)
    at += fmt::format("{}{}={}", at.empty() ? "" : ",", name, size);
  return fmt::format(
      "{}  {}\n{}  {}\n{}ratio    {:.3f} ({:.3f} to {:.3f}) in {} pairs of turns, threads {}\n"
      "outputs  differ by {:.2g} at most, relative to the largest\n",
      time_text(t.a_s), a, time_text(t.b_s), b, at.empty() ? "" : "sizes    " + at + "\n", t.ratio,
      t.low, t.high, t.turns, threads, t.difference);
}

// The folder of what was compiled for this is gone afterwards.
std::string shown(const LoadedModel& loaded, const std::string& path) {
  return loaded.compiled_here() ? path : loaded.model().directory().string();
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
  const bool by_second = second_has_the_sizes(first.model(), second.model(), options.model);
  const artifact::Model& sized = (by_second ? second : first).model();
  how.inputs = load_inputs(options.inputs, inputs_at(sized, by_second ? other : options.model),
                           sized.dims());
  const Sizes sizes =
      sizes_of(first.model().dims().empty() ? second.model() : first.model(), how.inputs);
  const std::string a = first.model().directory().string();
  const std::string b = second.model().directory().string();
  const auto timer = measure::network_timer(find_helper_tool("tenon-compare", ""));
  const measure::NetworkTimes times = timer->compare(a, b, how);
  if (!times.error.empty()) throw UserError(times.error);
  console.answer(console.json() ? tools::to_text(to_json(times, how.threads, sizes))
                                : to_text(times, shown(first, options.model.path),
                                          shown(second, against), how.threads, sizes));
  return 0;
}

}  // namespace tenon::tools
