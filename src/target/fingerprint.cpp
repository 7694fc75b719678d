// SPDX-License-Identifier: Apache-2.0
#include "target/fingerprint.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
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

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ';');) words.push_back(word);
  return words;
}

std::optional<Parts> parts_of(const std::string& text) {
  const std::vector<std::string> words = words_of(text);
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

// "nvptx64-nvidia-cuda;sm_90;NVIDIA H200;multiprocessors=132;threads=1024x2048;.."
std::optional<Target> card_of(const std::string& text) {
  constexpr size_t kCardNames = 3;
  const std::vector<std::string> words = words_of(text);
  if (words.size() <= kCardNames) return std::nullopt;
  std::string numbers;
  for (size_t i = kCardNames; i < words.size(); ++i) numbers += words[i] + ";";
  for (Target t : gpu_targets()) {
    Gpu& g = t.gpu();
    if (t.triple != words[0] || g.processor != words[1]) continue;
    if (!words[2].empty()) t.name = "cuda";  // as the card at hand is called
    t.machine = words[2];
    std::sscanf(numbers.c_str(),
                "multiprocessors=%d;threads=%dx%d;registers=%dx%d;shared=%" SCNd64 "x%" SCNd64
                ";l2=%" SCNd64,
                &g.multiprocessors, &g.threads_per_block, &g.threads_per_multiprocessor,
                &g.registers_per_thread, &g.registers_per_multiprocessor, &g.shared_bytes_per_block,
                &g.shared_bytes_per_multiprocessor, &g.l2_bytes);
    if (t.fingerprint() == text) return t;
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
  std::optional<Target> found = card_of(text);
  if (found) return found;
  for (const Target& row : known_targets()) {
    if (row.triple != parts->triple || row.cpu().processor != parts->processor) continue;
    const bool same = row.cpu().features == parts->features;
    if (!found || same) found = of_row(row, *parts, text);
    if (found && same) break;
  }
  return found;
}

}  // namespace tenon::target
