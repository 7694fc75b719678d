// SPDX-License-Identifier: Apache-2.0
#include "artifact/program.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "support/check.h"

namespace tenon::artifact {
namespace {

bool is_identifier(const std::string& name) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::all_of(name.begin(), name.end(), plain);
}

int64_t bytes_of(const ir::Buffer& b) { return b->elements() * b.dtype().bytes(); }

void check_place(const Program& p, const Param& param, bool read) {
  const auto index = static_cast<size_t>(param.index);
  switch (param.place) {
    case Place::kInput:
      TENON_CHECK(read && index < p.inputs.size() && param.bytes <= p.inputs[index].bytes());
      return;
    case Place::kOutput:
      TENON_CHECK(index < p.outputs.size() && param.bytes <= p.outputs[index].bytes());
      return;
    case Place::kWeights:
      TENON_CHECK(read && param.offset >= 0 && param.offset + param.bytes <= p.weights_bytes);
      break;
    case Place::kArena:
      TENON_CHECK(param.offset >= 0 && param.offset + param.bytes <= p.arena_bytes);
      break;
  }
  TENON_CHECK(param.offset % alignment(p.target) == 0) << "offset " << param.offset;
}

void check_step(const Program& p, const Step& step) {
  TENON_CHECK(step.kernel >= 0 && static_cast<size_t>(step.kernel) < p.kernels.size());
  const ir::Function& f = p.kernels[static_cast<size_t>(step.kernel)].function;
  TENON_CHECK(step.params.size() == f.params.size())
      << f.name << " takes " << f.params.size() << " parameters, the step gives "
      << step.params.size();
  for (size_t i = 0; i < step.params.size(); ++i) {
    TENON_CHECK(step.params[i].bytes >= bytes_of(f.params[i]))
        << f.name << ": parameter " << i << " has " << bytes_of(f.params[i])
        << " bytes, its place has " << step.params[i].bytes;
    check_place(p, step.params[i], i < f.num_inputs);
  }
}

}  // namespace

int64_t alignment(const target::Target& t) { return t.is_cpu() ? kAlignment : kGpuAlignment; }

target::Target host_of(const target::Target& t) {
#if defined(__x86_64__)
  constexpr const char* kPlainest = "x86-64";
#else
  constexpr const char* kPlainest = "aarch64";
#endif
  return t.is_cpu() ? t : target::parse_target(kPlainest);
}

void Program::check() const {
  TENON_CHECK(is_identifier(name)) << "'" << name << "' is not a C identifier";
  std::set<std::string> names;
  for (const Kernel& k : kernels) {
    TENON_CHECK(is_identifier(k.name) && names.insert(k.name).second) << k.name;
    TENON_CHECK(plan.find(k.task) != nullptr) << "nothing is decided about the task of " << k.name;
  }
  for (const Step& s : steps) {
    check_step(*this, s);
  }
  for (const Weight& w : weights) {
    TENON_CHECK(w.data != nullptr && w.offset >= 0 && w.offset % alignment(target) == 0 &&
                w.offset + w.data->bytes() <= weights_bytes)
        << "weight at " << w.offset;
  }
}

}  // namespace tenon::artifact
