// SPDX-License-Identifier: Apache-2.0
// Twelve models with open dimensions, each at many random sizes, against the interpreter or an artifact of exactly that
// size: one context after the other size, several contexts at once, sizes outside of the range, and nothing allocated after
// creation. `--sizes=N` sizes of each model; below 100 of them ranges are shorter.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <thread>

#include "artifact/commands.h"
#include "artifact/model.h"
#include "artifact/random_array.h"
#include "artifact/write.h"
#include "compile/open_networks.h"
#include "compile/oracle.h"
#include "compile/size_models.h"
#include "compile/sizes.h"
#include "graph/define.h"
#include "support/check.h"
#include "support/rng.h"

namespace tenon::compile {
namespace {

using Sizes = std::vector<int64_t>;
using Ranges = std::map<std::string, std::string>;

struct Arguments {
  int sizes = 5;
  uint64_t seed = 1;
};
Arguments arguments;

bool is_long() { return arguments.sizes >= 100; }

struct Contestant {
  const char* name;
  std::string (*bytes)();
  Ranges ranges, short_ranges;
  // Networks are compared with artifacts of exactly the size, within what the accuracy `default` allows all layers
  // together; others with the interpreter.
  bool network = false;
};

std::string squeezenet() { return open_network("squeezenet1_1", 64); }
std::string resnet() { return open_network("resnet18", 64); }
std::string dqn() { return open_network("dqn"); }
std::string bert() { return open_network("bert_tiny"); }

std::vector<Contestant> contestants() {
  return {
      {"perceptron", batch_mlp, {{"batch", "1..200"}}, {{"batch", "1..70"}}},
      {"convolutions", batch_cnn, {{"batch", "1..100"}}, {{"batch", "1..66"}}},
      {"attention",
       attention_block,
       {{"batch", "1..8"}, {"seq", "1..128"}},
       {{"batch", "1..3"}, {"seq", "1..40"}}},
      {"masked",
       masked_attention,
       {{"batch", "1..8"}, {"seq", "1..128"}},
       {{"batch", "1..3"}, {"seq", "1..40"}}},
      {"positions",
       positions,
       {{"batch", "1..8"}, {"seq", "1..64"}},
       {{"batch", "1..2"}, {"seq", "2..40"}}},
      {"means",
       embedding_mean,
       {{"batch", "1..8"}, {"seq", "1..60"}},
       {{"batch", "1..3"}, {"seq", "1..20"}}},
      {"recurrent", batch_lstm, {{"batch", "1..32"}}, {{"batch", "1..6"}}},
      {"images",
       image_of_any_size,
       {{"height", "8..40"}, {"width", "8..30"}},
       {{"height", "8..11"}, {"width", "8..11"}}},
      {"squeezenet", squeezenet, {{"batch", "1..8"}}, {{"batch", "1..2"}}, true},
      {"resnet", resnet, {{"batch", "1..8"}}, {{"batch", "1..2"}}, true},
      {"dqn", dqn, {{"batch", "1..100"}}, {{"batch", "1..3"}}, true},
      {"bert",
       bert,
       {{"batch", "1..8"}, {"seq", "1..512"}},
       {{"batch", "1..2"}, {"seq", "1..18"}},
       true},
  };
}

Options host() {
  Options o;
  o.target = target::host_target();
  return o;
}

// A size, inputs of that size and what they must give.
struct Question {
  Sizes sizes;
  std::vector<ir::Array> inputs, want;
};

// Empty: close enough.
std::string difference(const ir::Array& got, const ir::Array& want, bool network) {
  if (got.shape() != want.shape()) return "another shape";
  double largest = 1;
  for (int64_t i = 0; i < want.elements(); ++i) {
    largest = std::max(largest, std::abs(want.get_double(i)));
  }
  for (int64_t i = 0; i < want.elements(); ++i) {
    const double x = got.get_double(i), y = want.get_double(i);
    const double allowed = network ? 1e-3 * largest : 1e-4 * (1 + std::abs(y));
    if (!(std::abs(x - y) <= allowed)) return fmt::format("element {}: {}, not {}", i, x, y);
  }
  return "";
}

class Contest {
 public:
  explicit Contest(const Contestant& c)
      : contestant_(c),
        sized_(c.bytes(), is_long() ? c.ranges : c.short_ranges),
        program_(compile_sizes(sized_.model, "net", host())) {
    artifact::write(program_, {.directory = folder_ / "out", .outputs = {}, .threads = 0});
    model_.emplace(artifact::Model::load(folder_ / "out"));
  }

  // The smallest, the largest, then random ones.
  void ask(int count) {
    Rng rng(arguments.seed);
    for (int i = 0; i < count; ++i) {
      Sizes sizes;
      for (const OpenModel::Dim& d : sized_.model.dims) {
        const auto last = static_cast<int64_t>(d.sizes.size()) - 1;
        const int64_t at = i == 0 ? 0 : i == 1 ? last : rng.between(0, last);
        sizes.push_back(d.sizes[static_cast<size_t>(at)]);
      }
      questions_.push_back(make_question(sizes, rng));
    }
  }

  void answer_one_by_one() {
    artifact::Session session(*model_, 2);
    for (const Question& q : questions_) answer(q, session);
  }

  // Each context in an order of its own, so that sizes differ at any time.
  void answer_at_once() {
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; ++t) {
      threads.emplace_back([this, t] {
        artifact::Session session(*model_, 1);
        const size_t n = questions_.size(), step = t % 2 == 0 ? 1 : n - 1;
        for (size_t i = 0; i < n; ++i) answer(questions_[(t * n / 4 + i * step) % n], session);
      });
    }
    for (std::thread& t : threads) t.join();
  }

  // One less than the least and one more than the most of each dimension, seen from every input.
  void refuse_others() {
    artifact::Session session(*model_, 1);
    for (size_t i = 0; i < model_->inputs().size(); ++i) {
      const artifact::TensorInfo& t = model_->inputs()[i];
      for (size_t a = 0; a < t.dims.size(); ++a) {
        if (t.dims[a] < 0) continue;
        const Sizes& values = sized_.model.dims[static_cast<size_t>(t.dims[a])].sizes;
        for (const int64_t outside : {values.front() - 1, values.back() + 1}) {
          Sizes shape = t.shape;
          shape[a] = outside;
          EXPECT_THROW(session.set_shape(i, shape), UserError) << testing::PrintToString(shape);
          EXPECT_EQ(session.input(i).shape, t.shape) << "nothing has changed";
        }
      }
    }
  }

  // By a program in C that counts what is asked of the system.
  void allocate_nothing(int count) const;

  const artifact::Program& program() const { return program_; }

 private:
  Question make_question(const Sizes& sizes, Rng& rng) {
    const graph::Graph g = sized_.at(sizes);
    Question q{sizes, {}, {}};
    for (const graph::ValueId v : g.inputs) {
      q.inputs.push_back(artifact::random_array(g.value(v).dtype, g.value(v).shape, rng));
    }
    q.want = contestant_.network ? exact(sizes, g).run(q.inputs) : graph::evaluate(g, q.inputs);
    return q;
  }

  // The artifact of this size, made when it is first asked for.
  artifact::Session& exact(const Sizes& sizes, const graph::Graph& g) {
    const auto it = exact_.find(sizes);
    if (it != exact_.end()) return it->second;
    if (exact_.size() == kMostKept) forget_exact();
    const auto where = folder_ / fmt::format("exact{}", exact_.size());
    artifact::write(compile::compile(g, "net", host()),
                    {.directory = where, .outputs = {}, .threads = 0});
    return exact_.try_emplace(sizes, artifact::Model::load(where), 2).first->second;
  }

  // They fill the disk otherwise.
  void forget_exact() {
    for (size_t i = 0; i < exact_.size(); ++i) {
      std::filesystem::remove_all(folder_ / fmt::format("exact{}", i));
    }
    exact_.clear();
  }

  void answer(const Question& q, artifact::Session& session) const {
    const std::vector<ir::Array> got = session.run(q.inputs);
    ASSERT_EQ(got.size(), q.want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(difference(got[i], q.want[i], contestant_.network), "")
          << contestant_.name << " at " << testing::PrintToString(q.sizes) << ", output " << i;
    }
  }

  static constexpr size_t kMostKept = 16;
  const Contestant& contestant_;
  artifact::ScratchFolder folder_;
  Sized sized_;
  artifact::Program program_;
  std::optional<artifact::Model> model_;
  std::map<Sizes, artifact::Session> exact_;
  std::vector<Question> questions_;
};

constexpr const char* kCounting = R"(
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <net.h>
static volatile int count;
extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
void* malloc(size_t n) { __atomic_fetch_add(&count, 1, 5); return __libc_malloc(n); }
void* calloc(size_t n, size_t m) { __atomic_fetch_add(&count, 1, 5); return __libc_calloc(n, m); }
void* mmap(void* at, size_t n, int protect, int flags, int file, off_t offset) {
  __atomic_fetch_add(&count, 1, 5);
  return (void*)syscall(SYS_mmap, at, n, protect, flags, file, offset);
}
static unsigned long state = 1;
static int64_t draw(int64_t n) {
  state = state * 6364136223846793005ul + 1442695040888963407ul;
  return (int64_t)((state >> 33) % (unsigned long)n);
}
int main(int argc, char** argv) {
  const char* why = "";
  net_ctx* ctx = net_create(2, &why);
  const void* inputs[8];
  void* outputs[8];
  if (!ctx || argc != 2) { puts(why); return 1; }
  for (int i = 0; i < net_input_count(); ++i) inputs[i] = calloc(1, net_input(i)->bytes + 64);
  for (int i = 0; i < net_output_count(); ++i) outputs[i] = calloc(1, net_output(i)->bytes + 64);
  const int created = count;
  for (int run = 0; run < atoi(argv[1]); ++run) {
    int64_t sizes[8], shape[8];
    for (int d = 0; d < net_dim_count(); ++d)
      sizes[d] = net_dimension(d)->values[draw(net_dimension(d)->count)];
    for (int i = 0; i < net_input_count(); ++i) {
      const net_tensor* t = net_input(i);
      for (int a = 0; a < t->rank; ++a)
        shape[a] = t->dims && t->dims[a] >= 0 ? sizes[t->dims[a]] : t->shape[a];
      if (net_set_shape(ctx, i, shape, t->rank, &why) != 0) { puts(why); return 2; }
    }
    if (net_run(ctx, inputs, outputs) != 0) return 3;
  }
  const int after = count;
  net_destroy(ctx);
  printf("%d", after - created);
  return 0;
}
)";

void Contest::allocate_nothing(int count) const {
  const std::string out = folder_ / "out", program = folder_ / "counting";
  artifact::write_text(folder_ / "counting.c", kCounting);
  artifact::run_ok({TENON_CC, folder_ / "counting.c", "-I", out, "-o", program, out + "/libnet.so",
                    "-Wl,-rpath," + out});
  EXPECT_EQ(artifact::output_of({program, std::to_string(count)}), "0") << "allocations";
}

class SizesContest : public testing::TestWithParam<Contestant> {};

TEST_P(SizesContest, EverySizeIsAnsweredRight) {
  const auto start = std::chrono::steady_clock::now();
  Contest contest(GetParam());
  contest.ask(arguments.sizes);
  contest.answer_one_by_one();
  contest.answer_at_once();
  contest.refuse_others();
  contest.allocate_nothing(arguments.sizes);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print("{}: {} sizes right of {} compiled, {} kernels, {:.1f} s\n", GetParam().name,
             arguments.sizes, contest.program().variants.size(), contest.program().kernels.size(),
             took.count());
}

INSTANTIATE_TEST_SUITE_P(All, SizesContest, testing::ValuesIn(contestants()),
                         [](const auto& c) { return std::string(c.param.name); });

}  // namespace
}  // namespace tenon::compile

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    auto& a = tenon::compile::arguments;
    if (arg.starts_with("--sizes=")) a.sizes = std::max(2, std::atoi(arg.c_str() + 8));
    if (arg.starts_with("--seed=")) a.seed = std::strtoull(arg.c_str() + 7, nullptr, 10);
  }
  return RUN_ALL_TESTS();
}
