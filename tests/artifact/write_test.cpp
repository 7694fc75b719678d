// SPDX-License-Identifier: Apache-2.0
#include "artifact/write.h"

#include <gtest/gtest.h>

#include <fstream>

#include "artifact/model.h"
#include "artifact/programs.h"

namespace tenon::artifact {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Write, ASmallNetworkRunsRight) {
  const ScratchFolder folder;
  const Chain net = small_network("net", target::host_target());
  const Written written = write(net.program(), {.directory = folder / "out"});
  EXPECT_EQ(written.files, (std::vector<std::string>{"libnet.so", "net.h", "net.json", "net.lock",
                                                     "net.weights"}));
  const Model model = Model::load(folder / "out");
  EXPECT_EQ(model.name(), "net");
  ASSERT_EQ(model.inputs().size(), 1U);
  EXPECT_EQ(model.inputs()[0].name, "x");
  EXPECT_EQ(model.steps().size(), 3U);
  EXPECT_EQ(model.steps()[2].nodes, std::vector<std::string>{"node/softmax"});
  for (const int threads : {1, 2, 5}) {
    Session session(model, threads);
    EXPECT_EQ(session.threads(), threads);
    for (uint64_t seed = 0; seed < 3; ++seed) {
      const auto inputs = net.random_inputs(seed);
      EXPECT_EQ(difference(net.expected(inputs), session.run(inputs)), "");
    }
  }
}

TEST(Write, TheSameProgramGivesTheSameBytes) {
  const ScratchFolder folder;
  const Chain net = small_network("net", target::host_target());
  WriteOptions options;
  options.outputs = parse_outputs("so,a,h,o,ll,asm");
  options.directory = folder / "one";
  const Written one = write(net.program(), options);
  options.directory = folder / "another/place";
  options.threads = 1;
  const Written two = write(small_network("net", target::host_target()).program(), options);
  EXPECT_EQ(one.files, two.files);
  EXPECT_EQ(one.files.size(), 13U);
  for (const std::string& name : one.files) {
    EXPECT_EQ(read_file(folder / "one" / name), read_file(folder / "another/place" / name)) << name;
  }
}

}  // namespace
}  // namespace tenon::artifact
