// SPDX-License-Identifier: Apache-2.0
#include "artifact/gpu_steps.h"

#include <algorithm>
#include <optional>

namespace tenon::artifact {
namespace {

struct Access {
  Param param;
  bool writes = false;
};

bool overlap(const Param& a, const Param& b) {
  if (a.place != b.place || a.bytes == 0 || b.bytes == 0) return false;
  if (a.place != Place::kArena) return a.index == b.index;  // whole tensors of the caller
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

// Nobody writes inputs and weights, so only accesses to the arena and to outputs are listed.
std::vector<Access> accesses(const Program& program, const Step& step) {
  const ir::Function& f = program.kernels[static_cast<size_t>(step.kernel)].function;
  std::vector<Access> list;
  for (size_t i = 0; i < step.params.size(); ++i) {
    const Place place = step.params[i].place;
    if (place == Place::kArena || place == Place::kOutput) {
      list.push_back({step.params[i], i >= f.num_inputs});
    }
  }
  return list;
}

bool conflict(const std::vector<Access>& a, const std::vector<Access>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Access& x) {
    return std::any_of(b.begin(), b.end(), [&](const Access& y) {
      return (x.writes || y.writes) && overlap(x.param, y.param);
    });
  });
}

struct ScratchPlace {
  int64_t bytes = 0;
  size_t last = 0;  // step that uses it
};

class Order {
 public:
  Order(const Program& program, const std::vector<CompiledKernel>& kernels)
      : program_(program), kernels_(kernels) {
    for (const Step& s : program.steps) accesses_.push_back(accesses(program, s));
    before_.assign(accesses_.size(), std::vector<bool>(accesses_.size(), false));
    place_.resize(accesses_.size());
  }

  GpuSteps run() {
    GpuSteps out;
    for (size_t s = 0; s < accesses_.size(); ++s) {
      out.steps.emplace_back();
      if (kernel(s).gpu.launches.empty()) continue;  // nothing runs, nothing waits
      wait_for(s, std::nullopt);
      const std::optional<size_t> also = choose_place(s);
      out.steps.back().after = wait_for(s, also);
    }
    std::vector<int64_t> offsets;
    for (const ScratchPlace& p : places_) {
      offsets.push_back(out.scratch_bytes);
      out.scratch_bytes += align_up(p.bytes, kGpuAlignment);
    }
    for (size_t s = 0; s < accesses_.size(); ++s) {
      if (place_[s]) out.steps[s].scratch_offset = offsets[*place_[s]];
    }
    return out;
  }

 private:
  const CompiledKernel& kernel(size_t s) const {
    return kernels_[static_cast<size_t>(program_.steps[s].kernel)];
  }

  // Fills in what is done before s, and gives the steps that it has to wait for. From the latest to the earliest: what a
  // later one has waited for needs no waiting.
  std::vector<int32_t> wait_for(size_t s, std::optional<size_t> also) {
    std::vector<int32_t> after;
    std::vector<bool>& before = before_[s];
    std::fill(before.begin(), before.end(), false);
    for (size_t t = s; t-- > 0;) {
      if (before[t] || kernel(t).gpu.launches.empty()) continue;
      if (t != also && !conflict(accesses_[s], accesses_[t])) continue;
      after.push_back(static_cast<int32_t>(t));
      before[t] = true;
      for (size_t u = 0; u < t; ++u) before[u] = before[u] || before_[t][u];
    }
    std::reverse(after.begin(), after.end());
    return after;
  }

  // A place whose user is done by then, a fresh one, or that whose user came first, which is then waited for.
  std::optional<size_t> choose_place(size_t s) {
    const int64_t bytes = kernel(s).workspace_bytes;
    if (bytes == 0) return std::nullopt;
    auto found = std::find_if(places_.begin(), places_.end(),
                              [&](const ScratchPlace& p) { return before_[s][p.last]; });
    std::optional<size_t> waits;
    if (found == places_.end() && places_.size() < kScratchPlaces) {
      found = places_.insert(places_.end(), ScratchPlace{});
    } else if (found == places_.end()) {
      found = std::min_element(
          places_.begin(), places_.end(),
          [](const ScratchPlace& a, const ScratchPlace& b) { return a.last < b.last; });
      waits = found->last;
    }
    found->bytes = std::max(found->bytes, bytes);
    found->last = s;
    place_[s] = static_cast<size_t>(found - places_.begin());
    return waits;
  }

  const Program& program_;
  const std::vector<CompiledKernel>& kernels_;
  std::vector<std::vector<Access>> accesses_;
  std::vector<std::vector<bool>> before_;
  std::vector<ScratchPlace> places_;
  std::vector<std::optional<size_t>> place_;  // per step
};

}  // namespace

GpuSteps order_steps(const Program& program, const std::vector<CompiledKernel>& kernels) {
  return Order(program, kernels).run();
}

}  // namespace tenon::artifact
