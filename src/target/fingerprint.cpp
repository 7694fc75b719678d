// SPDX-License-Identifier: Apache-2.0
#include "target/fingerprint.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "support/check.h"

namespace tenon::target {
namespace {

// "x86_64-unknown-linux-gnu;x86-64-v4;+avx512vnni;GenuineIntel 6/207/2;vector=64x32;cores=16;.."
struct Parts {
  std::string triple, processor, features, machine;
  std::string settings;  // as parse_target takes them: " cores=16 l1d=49152 .."
};

constexpr size_t kNames = 4;

std::optional<Parts> parts_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ';');) words.push_back(word);
  if (words.size() <= kNames) return std::nullopt;
  Parts p{words[0], words[1], words[2], words[3], ""};
  for (size_t i = kNames; i < words.size(); ++i) {
    const std::string key = words[i].substr(0, words[i].find('='));
    if (key == "vector") {
      const std::string sizes = words[i].substr(key.size() + 1);
      p.settings += " vector_bytes=" + sizes.substr(0, sizes.find('x'));
    } else if (key != "line") {
      p.settings += " " + words[i];
    }
  }
  return p;
}

std::optional<Target> of_row(const Target& row, const Parts& p, const std::string& text) {
  try {
    Target t = parse_target(row.name + p.settings);
    t.cpu().features = p.features;
    set_machine(t, p.machine);
    if (t.fingerprint() == text) return t;
  } catch (const UserError&) {  // vectors that the row does not have
  }
  return std::nullopt;
}

}  // namespace

void set_machine(Target& t, const std::string& machine) {
  t.machine = machine;
  // Zen 4 issues each 512-bit operation as two halves.
  if (machine.starts_with("AuthenticAMD 25/")) {
    t.cpu().datapath_bytes = std::min(t.cpu().datapath_bytes, 32);
  }
  t.cpu().rates = known_rates(machine).value_or(guessed_rates(t.cpu().datapath_bytes));
}

std::optional<Target> target_of_fingerprint(const std::string& text) {
  const auto parts = parts_of(text);
  if (!parts) return std::nullopt;
  std::optional<Target> found;
  for (const Target& row : known_targets()) {
    if (row.triple != parts->triple || row.cpu().processor != parts->processor) continue;
    const bool same = row.cpu().features == parts->features;
    if (!found || same) found = of_row(row, *parts, text);
    if (found && same) break;
  }
  return found;
}

}  // namespace tenon::target
