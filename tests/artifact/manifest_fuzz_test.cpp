// SPDX-License-Identifier: Apache-2.0
// Mutated manifests beside a good library: each is refused with a UserError, or the model gives the same numbers.
//   artifact_manifest_fuzz_test [--seed=N] [--runs=N]
// Everything about run i follows from seed + i: --seed=THAT --runs=1 repeats it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "artifact/manifest_file.h"
#include "artifact/manifest_mutate.h"
#include "artifact/model.h"
#include "artifact/programs.h"
#include "artifact/verify.h"
#include "artifact/write.h"
#include "report/network/network.h"
#include "te/ops.h"

namespace tenon::artifact {
namespace {

struct Options {
  uint64_t seed = 1;
  uint64_t runs = 400;
};
Options options;  // set by main

// Of the same name as small_network, with other shapes and no weights.
Chain wide_network(const std::string& name) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {5, 4000});
  b.output(te::elementwise(b, "Y", {x}, [](auto v) { return v[0]; }));
  te::ComputeDag dag = b.finish();
  dag.name = "copy";
  Chain c(name, target::host_target());
  c.input("x", ir::kF32, {5, 4000});
  c.output("y", ir::kF32, {5, 4000});
  c.step(dag, {"x"}, {"y"});
  return c;
}

class ManifestFuzz : public ::testing::Test {
 protected:
  void SetUp() override {
    write(net_.program(), {.directory = folder_ / "net"});
    write(wide_network("net").program(), {.directory = folder_ / "wide"});
    write(small_network("other", target::host_target()).program(),
          {.directory = folder_ / "other"});
    original_ = read_small_file(file_);
    lock_ = read_small_file(folder_ / "net/net.lock");
    const std::string wide = read_small_file(folder_ / "wide/net.json");
    // The last one fits the files beside it, and tells about another model.
    others_ = {wide, read_small_file(folder_ / "other/other.json"), "", "[]",
               "{}", with_files(wide, listed_files(file_))};
  }

  // Empty, or what was neither a refusal nor the same numbers.
  std::string outcome(const std::string& path) {
    try {
      Session session(Model::load(path), 1);
      const auto inputs = net_.random_inputs(5);
      ++accepted_;
      return difference(net_.expected(inputs), session.run(inputs));
    } catch (const UserError& e) {
      return std::string(e.what()).empty() ? "a refusal without a sentence" : "";
    } catch (const std::exception& e) {
      return std::string("not a UserError: ") + e.what();
    }
  }

  // Of whoever reads a manifest without running the model.
  std::string outcome_of_readers(const std::string& text) {
    try {
      (void)listed_files(file_);
      (void)report::parse_network(text, lock_);
      (void)verify(folder_ / "net");
    } catch (const UserError&) {
      return "";
    } catch (const std::exception& e) {
      return std::string("not a UserError: ") + e.what();
    }
    return "";
  }

  const ScratchFolder folder_;
  const std::string file_ = folder_ / "net/net.json";
  const Chain net_ = small_network("net", target::host_target());
  std::string original_, lock_;
  std::vector<std::string> others_;
  uint64_t accepted_ = 0;
};

TEST_F(ManifestFuzz, RefusedOrTheSameNumbers) {
  ASSERT_EQ(outcome(file_), "");
  ASSERT_EQ(accepted_, 1U);
  fmt::print("seeds {} to {}\n", options.seed, options.seed + options.runs - 1);
  for (uint64_t i = 0; i < options.runs; ++i) {
    Rng rng(options.seed + i);
    const Mutation m = mutate_manifest(original_, others_, rng);
    std::ofstream(file_, std::ios::binary) << m.text;
    const std::string path = rng.chance(0.5) ? file_ : (folder_ / "net").string();
    SCOPED_TRACE(fmt::format("--seed={} --runs=1: {}", options.seed + i, m.what));
    EXPECT_EQ(outcome(path), "");
    EXPECT_EQ(outcome_of_readers(m.text), "");
  }
  EXPECT_LT(accepted_, options.runs / 2 + 2);  // most of it must be noticed
}

}  // namespace
}  // namespace tenon::artifact

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const std::string value = arg.substr(std::min(arg.find('=') + 1, arg.size()));
    if (arg.starts_with("--seed=")) {
      tenon::artifact::options.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (arg.starts_with("--runs=")) {
      tenon::artifact::options.runs = std::strtoull(value.c_str(), nullptr, 10);
    }
  }
  return RUN_ALL_TESTS();
}
