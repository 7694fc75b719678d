// SPDX-License-Identifier: Apache-2.0
// What somebody meets who tries tenon for the first time: wrong files, odd names, inputs that must become constants.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "files/array_files.h"
#include "files/file.h"
#include "onnx/text_model.h"
#include "tools/tenon_command.h"

namespace tenon::testing {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;
using onnx::testing::node;
using onnx::testing::value;

// add: x + y of shape nx3; other: relu of z, 2x5; sized: x reshaped by shape.
class Newcomer : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    fs::remove_all(dir());
    fs::create_directories(dir());
    write("add", value("input", "x", "n 3") + value("input", "y", "n 3") + node("Add", "x y", "z") +
                     value("output", "z", "n 3"));
    write("other", value("input", "z", "2 5") + node("Relu", "z", "r") + node("Neg", "z", "q") +
                       value("output", "r", "2 5") + value("output", "q", "2 5"));
    write("sized", value("input", "x", "6") + value("input", "shape", "2", 7) +
                       node("Abs", "shape", "Abs_0_C") + node("Reshape", "x Abs_0_C", "y") +
                       value("output", "y", "a b"));
    compile("add", "add", {"--dims", "n=2"});
    compile("other", "other", {});
  }
  static void write(const std::string& name, const std::string& graph,
                    const std::string& header = "") {
    files::write_file(file(name), onnx::testing::model_bytes(header + "graph {\n" + graph + "}\n"));
  }
  static Outcome compile(const std::string& name, const std::string& folder, const Args& more) {
    Args args = {"compile", file(name), "-o", in_dir(folder)};
    args.insert(args.end(), more.begin(), more.end());
    Outcome o = tenon(args);
    EXPECT_EQ(o.exit_code, 0) << o.err;
    return o;
  }
  static std::string dir() { return ::testing::TempDir() + "tenon_newcomer"; }
  static std::string in_dir(const std::string& name) { return dir() + "/" + name; }
  static std::string file(const std::string& name) { return in_dir(name + ".onnx"); }
};

TEST_F(Newcomer, IndicesOutsideOfTablesAreRefused) {
  const std::string ids =
      "initializer { name: \"ids\" data_type: 7 dims: 2 int64_data: [511, 512] }\n";
  write("table", ids + value("input", "t", "512 4") + node("Gather", "t ids", "y") +
                     value("output", "y", "2 4"));
  const Outcome o = tenon({"check", file("table")});
  EXPECT_EQ(o.exit_code, 3);
  EXPECT_TRUE(contains(o.err, "index 512 is outside of 512 places")) << o.err;
}

}  // namespace
}  // namespace tenon::testing
