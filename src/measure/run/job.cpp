// SPDX-License-Identifier: Apache-2.0
#include "measure/run/job.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "measure/run/values.h"

namespace tenon::run {
namespace {

using measure::Message;
using measure::Param;
using measure::RunJob;

constexpr int64_t kChunk = 1 << 16;  // bytes that are moved at a time

std::vector<char> poison(const RunJob& job) {
  return std::vector<char>(kChunk, static_cast<char>(job.poison));
}

Place place_of(const RunJob& job) { return job.check ? Place::kBack : Place::kFront; }

// Inputs of a job that checks are left for the caller to fill.
std::vector<std::unique_ptr<Buffer>> make_params(const RunJob& job, Device& device) {
  std::vector<std::unique_ptr<Buffer>> made;
  for (const Param& p : job.params) {
    made.push_back(device.allocate(p.bytes, place_of(job)));
    if (p.role == 'o') {
      made.back()->fill(poison(job));
    } else if (!job.check) {
      made.back()->fill(quick_values(p.dtype, std::min(p.bytes, kChunk)));
    }
  }
  return made;
}

std::unique_ptr<Buffer> make_workspace(const RunJob& job, Device& device) {
  auto made = device.allocate(job.workspace_bytes, place_of(job));
  made->fill(poison(job));
  return made;
}

// Empty, or where something was written that is not the kernel's.
std::string damage(const Arguments& a) {
  for (size_t i = 0; i < a.params.size(); ++i) {
    if (!a.params[i]->intact()) return "wrote outside of parameter " + std::to_string(i);
  }
  return a.workspace->intact() ? "" : "wrote outside of the workspace";
}

bool holds(const Buffer& b, const char* expected) {
  std::vector<char> chunk(static_cast<size_t>(std::min(b.bytes(), kChunk)));
  for (int64_t at = 0; at < b.bytes(); at += kChunk) {
    const int64_t n = std::min(kChunk, b.bytes() - at);
    b.get(chunk.data(), n, at);
    if (std::memcmp(chunk.data(), expected + at, static_cast<size_t>(n)) != 0) return false;
  }
  return true;
}

Message time_kernel(const RunJob& job, Device& device, Kernel& kernel, Operands& kept) {
  Arguments a{kept.take(job, device), make_workspace(job, device)};
  TimingRules rules{
      .min_run_s = job.min_run_s, .best_s = job.best_s, .cold = job.cold, .flushed = {}};
  for (const Param& p : job.params) rules.flushed.push_back(p.role != 'i');
  const std::vector<double> seconds = kernel.time(a, rules);
  if (std::string why = damage(a); !why.empty()) return {"wrong", why};
  kept.give(std::move(a.params));
  Message m = {"ok"};
  for (const double s : seconds) m.push_back(measure::to_text(s));
  return m;
}

Message check_kernel(const RunJob& job, Device& device, Kernel& kernel, char* shared) {
  const std::vector<int64_t> at = measure::offsets(job.params);
  const Arguments a{make_params(job, device), make_workspace(job, device)};
  const auto is_output = [&](size_t i) { return job.params[i].role == 'o'; };
  for (size_t i = 0; i < a.params.size(); ++i) {
    if (!is_output(i)) a.params[i]->put(shared + at[i], a.params[i]->bytes(), 0);
  }
  kernel.launch(a);
  std::string why = damage(a);
  for (size_t i = 0; i < a.params.size(); ++i) {
    if (is_output(i)) {
      a.params[i]->get(shared + at[i], a.params[i]->bytes(), 0);
    } else if (!holds(*a.params[i], shared + at[i])) {
      why = "wrote to input " + std::to_string(i);
    }
  }
  return why.empty() ? Message{"ok"} : Message{"wrong", why};
}

}  // namespace

void Buffer::fill(const std::vector<char>& pattern) {
  const auto step = static_cast<int64_t>(pattern.size());
  for (int64_t at = 0; at < bytes(); at += step)
    put(pattern.data(), std::min(step, bytes() - at), at);
}

std::vector<std::unique_ptr<Buffer>> Operands::take(const RunJob& job, Device& device) {
  if (!params_.empty() && made_for_ == job.params && device_ == &device) return std::move(params_);
  params_.clear();  // before memory is asked for
  made_for_ = job.params;
  device_ = &device;
  return make_params(job, device);
}

Message run_job(const RunJob& job, Device& device, char* shared, Operands& kept) {
  try {
    const std::unique_ptr<Kernel> kernel = device.load(job.library, job.threads);
    return job.check ? check_kernel(job, device, *kernel, shared)
                     : time_kernel(job, device, *kernel, kept);
  } catch (const Unable& e) {
    return {"unable", e.what()};
  } catch (const Unfit& e) {
    return {"failed", e.what()};
  } catch (const std::bad_alloc&) {
    return {"failed", "no memory for its arguments"};
  }
}

}  // namespace tenon::run
