// SPDX-License-Identifier: Apache-2.0
#include "backend/harness.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <thread>

#include "ir/print.h"

namespace tenon::backend {

using ir::Array;
using ir::DType;

std::vector<target::Target> targets_here() {
  std::vector<target::Target> here;
  for (const target::Target& t : target::known_targets()) {
    if (target::runs_here(t)) {
      here.push_back(t);
      here.back().cpu().parallel_vectors = 0;  // the loops of tests are small
    }
  }
  return here;
}

namespace {

double random_float(DType t, Rng& rng) {
  const double special[] = {0.0, -0.0, 1.0, -1.0, 0.5, 65504.0, 1e-5, -3.25, 6e-8};
  if (rng.chance(0.2)) {
    return ir::round_to(t, special[rng.between(0, 8)]);
  }
  const double magnitude = std::ldexp(rng.unit() + 0.5, static_cast<int>(rng.between(-6, 6)));
  return ir::round_to(t, rng.chance(0.5) ? magnitude : -magnitude);
}

int64_t random_int(DType t, Rng& rng) {
  if (t.is_bool()) {
    return rng.between(0, 1);
  }
  const int64_t special[] = {0, 1, -1, ir::lowest_int(t), ir::highest_int(t), 2, 7};
  const auto any = static_cast<int64_t>(rng.next());
  const bool small = rng.chance(0.5);
  return ir::wrap_int(t, rng.chance(0.3) ? special[rng.between(0, 6)] : small ? any % 100 : any);
}

void poison(Array& a) { std::memset(a.data(), 0xA5, static_cast<size_t>(a.bytes())); }

// 64-byte aligned memory between two pages that cannot be touched: right behind the first one or as
// close as alignment allows to the second. What is left of its pages holds a pattern.
class Guarded {
 public:
  enum class At : uint8_t { kFront, kBack };

  Guarded(int64_t bytes, At at) : bytes_(static_cast<size_t>(bytes)) {
    inner_ = (bytes_ + kPage) / kPage * kPage;
    void* p = mmap(nullptr, inner_ + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TENON_CHECK(p != MAP_FAILED);
    pages_ = static_cast<unsigned char*>(p) + kPage;
    TENON_CHECK(mprotect(pages_, inner_, PROT_READ | PROT_WRITE) == 0);
    std::memset(pages_, kPattern, inner_);
    data_ = pages_ + (at == At::kFront ? 0 : (inner_ - bytes_) / 64 * 64);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(pages_ - kPage, inner_ + 2 * kPage); }
  unsigned char* data() { return data_; }
  bool intact() const {
    const auto same = [](unsigned char c) { return c == kPattern; };
    return std::all_of(pages_, data_, same) && std::all_of(data_ + bytes_, pages_ + inner_, same);
  }

 private:
  static constexpr size_t kPage = 4096;
  static constexpr unsigned char kPattern = 0xC3;
  size_t bytes_;
  size_t inner_ = 0;
  unsigned char* pages_ = nullptr;
  unsigned char* data_ = nullptr;
};

bool close(DType t, const ir::Scalar& x, const ir::Scalar& y, Tolerance tolerance) {
  if (!t.is_float()) {
    return x.i == y.i;
  }
  if (std::isnan(x.f) || std::isnan(y.f)) {
    return std::isnan(x.f) && std::isnan(y.f);
  }
  if (x.f == y.f) {
    return true;
  }
  const double error = std::fabs(x.f - y.f);
  return error <= tolerance.absolute ||
         error <= tolerance.relative * std::max(std::fabs(x.f), std::fabs(y.f));
}

std::string show(DType t, const ir::Scalar& v) {
  return t.is_float() ? fmt::format("{:.17g}", v.f) : std::to_string(v.i);
}

}  // namespace

std::vector<Array> random_args(const ir::Function& f, Rng& rng) {
  std::vector<Array> args;
  for (size_t i = 0; i < f.params.size(); ++i) {
    const DType t = f.params[i].dtype();
    Array a(t, {f.params[i]->elements()});
    poison(a);
    for (int64_t k = 0; i < f.num_inputs && k < a.elements(); ++k) {
      ir::Scalar v;
      if (t.is_float()) {
        v.f = random_float(t, rng);
      } else {
        v.i = random_int(t, rng);
      }
      a.set(k, v);
    }
    args.push_back(std::move(a));
  }
  return args;
}

std::vector<Array> small_args(const ir::Function& f, Rng& rng, int64_t lowest, int64_t highest) {
  std::vector<Array> args;
  for (size_t i = 0; i < f.params.size(); ++i) {
    Array a(f.params[i].dtype(), {f.params[i]->elements()});
    poison(a);
    for (int64_t k = 0; i < f.num_inputs && k < a.elements(); ++k) {
      a.set_double(k, static_cast<double>(rng.between(lowest, highest)));
    }
    args.push_back(std::move(a));
  }
  return args;
}

std::vector<Array> run_kernel(const ir::Function& f, const Kernel& kernel,
                              const std::vector<Array>& args, const tenon_runtime* rt) {
  const Guarded::At at = rt == nullptr ? Guarded::At::kBack : Guarded::At::kFront;
  std::deque<Guarded> memory;
  std::vector<void*> params;
  for (const Array& a : args) {
    memory.emplace_back(a.bytes(), at);
    std::memcpy(memory.back().data(), a.data(), static_cast<size_t>(a.bytes()));
    params.push_back(memory.back().data());
  }
  Guarded workspace(kernel.workspace_bytes(), at);
  std::memset(workspace.data(), 0xA5, static_cast<size_t>(kernel.workspace_bytes()));
  kernel.entry()(params.data(), workspace.data(), rt);
  EXPECT_TRUE(workspace.intact()) << f.name << " wrote outside of its workspace";
  std::vector<Array> after = args;
  for (size_t i = 0; i < args.size(); ++i) {
    const auto bytes = static_cast<size_t>(args[i].bytes());
    EXPECT_TRUE(memory[i].intact()) << f.name << " wrote outside of " << f.params[i].name();
    std::memcpy(after[i].data(), memory[i].data(), bytes);
    if (i < f.num_inputs) {
      EXPECT_EQ(std::memcmp(after[i].data(), args[i].data(), bytes), 0) << f.params[i].name();
    }
  }
  return after;
}

void expect_equal(const ir::Function& f, const std::vector<Array>& expected,
                  const std::vector<Array>& actual, Tolerance tolerance) {
  constexpr int kShown = 5;
  for (size_t i = f.num_inputs; i < expected.size(); ++i) {
    const DType t = expected[i].dtype();
    int wrong = 0;
    for (int64_t k = 0; k < expected[i].elements(); ++k) {
      const ir::Scalar x = expected[i].get(k);
      const ir::Scalar y = actual[i].get(k);
      if (!close(t, x, y, tolerance) && ++wrong <= kShown) {
        ADD_FAILURE() << f.params[i].name() << "[" << k << "] of type " << ir::to_string(t)
                      << ": expected " << show(t, x) << ", got " << show(t, y);
      }
    }
    EXPECT_EQ(wrong, 0) << "in " << f.params[i].name();
  }
}

void expect_same(const ir::Function& f, const std::vector<Array>& args, Tolerance tolerance) {
  std::vector<Array> expected = args;
  ir::interpret(f, expected);
  const ThreadedRuntime threads(3);
  for (const target::Target& t : targets_here()) {
    SCOPED_TRACE(f.name + " for " + t.name);
    const auto kernel = jit(f, t);
    expect_equal(f, expected, run_kernel(f, *kernel, args), tolerance);
    expect_equal(f, expected, run_kernel(f, *kernel, args, threads.get()), tolerance);
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << ir::to_string(f);
      return;
    }
  }
}

namespace {

void run_threads(const tenon_runtime* rt, tenon_body body, void* closure, int64_t n) {
  std::vector<std::thread> threads;
  const int64_t count = rt->threads;
  int64_t begin = 0;
  for (int64_t i = 1; i <= count; ++i) {
    // Later ranges are longer; some may be empty.
    const int64_t end = n * i * i / (count * count);
    threads.emplace_back([=] { body(closure, begin, end); });
    begin = end;
  }
  for (std::thread& t : threads) {
    t.join();
  }
}

}  // namespace

ThreadedRuntime::ThreadedRuntime(int threads) : rt_{run_threads, nullptr, threads} {}

}  // namespace tenon::backend
