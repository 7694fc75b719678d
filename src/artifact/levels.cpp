// SPDX-License-Identifier: Apache-2.0
#include "artifact/levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "artifact/manifest.h"
#include "support/check.h"
#include "support/sha256.h"

namespace tenon::artifact {
namespace {

void check_levels(const std::vector<Program>& programs) {
  uint64_t before = 0;
  for (const Program& p : programs) {
    if (!p.target.is_cpu() || p.target.arch != programs[0].target.arch) {
      throw UserError("several targets in one library must be CPUs of one architecture",
                      "such as --target x86-64-v2,x86-64-v3,x86-64-v4");
    }
    const uint64_t needs = cpu_needs(p.target);
    if ((before & ~needs) != 0 || (before == needs && &p != &programs[0])) {
      throw UserError(
          fmt::format("target '{}' does not have more than the ones before it", p.target.name),
          "name targets from the least to the best, such as "
          "--target x86-64-v2,x86-64-v3,x86-64-v4");
    }
    before = needs;
  }
}

// "x86-64-v3" as part of a C identifier.
std::string suffix_of(const target::Target& t) {
  std::string text = "_" + t.name;
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return text;
}

// The weights of all programs, equal ones once.
class SharedWeights {
 public:
  int64_t place(const Weight& w) {
    Sha256 sha;
    sha.add(w.data->data(), static_cast<size_t>(w.data->bytes()));
    const auto key = std::make_pair(w.data->bytes(), sha.digest());
    const auto [it, first] = known_.emplace(key, bytes_);
    if (first) {
      all_.push_back({bytes_, w.data});
      bytes_ = align_up(bytes_ + w.data->bytes());
    }
    return it->second;
  }
  const std::vector<Weight>& all() const { return all_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::map<std::pair<int64_t, Sha256::Digest>, int64_t> known_;
  std::vector<Weight> all_;
  int64_t bytes_ = 0;
};

// Where each weight of a program went, by where it was.
using Moved = std::map<int64_t, int64_t>;

void move_params(std::vector<Step>& steps, const Moved& moved) {
  for (Step& s : steps) {
    for (Param& p : s.params) {
      if (p.place != Place::kWeights) continue;
      auto it = moved.upper_bound(p.offset);
      TENON_CHECK(it != moved.begin()) << p.offset;
      --it;
      p.offset = it->second + (p.offset - it->first);
    }
  }
}

}  // namespace

std::vector<Program> join_levels(std::vector<Program> programs) {
  if (programs.size() < 2) return programs;
  check_levels(programs);
  SharedWeights shared;
  for (Program& p : programs) {
    Moved moved;
    for (const Weight& w : p.weights) moved[w.offset] = shared.place(w);
    move_params(p.steps, moved);
    for (Variant& v : p.variants) move_params(v.steps, moved);
    for (Kernel& k : p.kernels) k.name += suffix_of(p.target);
  }
  for (Program& p : programs) {
    p.weights = shared.all();
    p.weights_bytes = shared.bytes();
  }
  return programs;
}

}  // namespace tenon::artifact
