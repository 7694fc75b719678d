// SPDX-License-Identifier: Apache-2.0
// tenon targets: what --target can be.
#include <fmt/format.h>

#include "target/target.h"
#include "tools/tenon/command.h"
#include "tools/tenon/json.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

struct Listed {
  std::string name, what;
  bool runs_here = false;
};

std::string describe(const target::Cpu& c) {
  return fmt::format("{} vector registers of {} bytes{}{}", c.vector_registers, c.vector_bytes,
                     c.has_fma ? ", multiply-add" : "",
                     c.features.empty() ? "" : ", " + c.features);
}

std::string describe(const target::Gpu& g) {
  return fmt::format("{}, {} multiprocessors, {} of shared memory in a block", g.processor,
                     g.multiprocessors, bytes_text(static_cast<double>(g.shared_bytes_per_block)));
}

Listed listed(const std::string& name, const target::Target& t) {
  return {name, std::visit([](const auto& part) { return describe(part); }, t.part),
          target::runs_here(t)};
}

std::vector<Listed> list_targets() {
  std::vector<Listed> all = {listed("host", target::host_target())};
  for (const target::Target& t : target::known_targets()) all.push_back(listed(t.name, t));
  try {
    all.push_back(listed("cuda", target::card_target()));
  } catch (const UserError&) {
    all.push_back({"cuda", "the first GPU of this machine, which shows none", false});
  }
  for (const target::Target& t : target::gpu_targets()) all.push_back(listed(t.name, t));
  return all;
}

std::string to_text(const std::vector<Listed>& all) {
  std::string text = fmt::format("{:<16} {:<10} {}\n", "target", "runs here", "what");
  for (const Listed& t : all) {
    text += fmt::format("{:<16} {:<10} {}\n", t.name, t.runs_here ? "yes" : "no", t.what);
  }
  return text;
}

Json to_json(const std::vector<Listed>& all) {
  Json list = Json::array();
  for (const Listed& t : all) {
    list.push_back({{"name", t.name}, {"what", t.what}, {"runs_here", t.runs_here}});
  }
  return {{"schema", "tenon.targets/1"}, {"targets", list}};
}

}  // namespace

Run add_targets(CLI::App&, Console& console) {
  return [&console] {
    const std::vector<Listed> all = list_targets();
    console.answer(console.json() ? tools::to_text(to_json(all)) : to_text(all));
    return kExitOk;
  };
}

}  // namespace tenon::tools
