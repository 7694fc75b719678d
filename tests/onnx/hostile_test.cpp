// SPDX-License-Identifier: Apache-2.0
// Files that lie: each is refused with a sentence, quickly and without much memory.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>

#include "onnx/proto.h"
#include "onnx/text_model.h"

namespace tenon::onnx {
namespace {

namespace fs = std::filesystem;
using testing::model_bytes;
using testing::node;
using testing::refusal;
using testing::value;

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string with_weight(const std::string& tensor) {
  return "graph { initializer { name: \"w\" " + tensor + " }\n" + value("input", "x", "2") +
         node("Add", "x w", "y") + value("output", "y", "2") + "}";
}

struct Lie {
  std::string what, text, answer;
};

std::string plain(const std::string& body) {
  return "graph {" + value("input", "x", "2") + body + value("output", "y", "2") + "}";
}

std::vector<Lie> lies() {
  const std::string set = "opset_import { version: ";
  return {
      {"no data", with_weight("dims: 2 data_type: 1"), "has 0 elements of data, its shape wants 2"},
      {"too little", with_weight("dims: 2 data_type: 1 raw_data: \"1234567\""), "7 bytes of data"},
      {"too much", with_weight("dims: 2 data_type: 1 float_data: [1, 2, 3]"), "3 elements"},
      {"huge", with_weight("dims: 1099511627775 data_type: 1 float_data: 1"), "not in 0.."},
      {"overflow", with_weight("dims: 2147483648 dims: 2147483648 dims: 4 data_type: 1"),
       "too many"},
      {"hidden by 0", with_weight("dims: 2147483648 dims: 2147483648 dims: 0 data_type: 1"),
       "too many"},
      {"negative", with_weight("dims: -2 data_type: 1"), "extent -2"},
      {"many dims", with_weight("dims: [1,1,1,1,1,1,1,1,1,1,1,1,1] data_type: 1 float_data: 1"),
       "13 dimensions"},
      {"strings", with_weight("dims: 1 data_type: 8 string_data: \"a\""), "elements of string"},
      {"unknown type", with_weight("dims: 1 data_type: 99"), "type 99"},
      {"segment", with_weight("dims: 2 data_type: 1 segment { begin: 0 }"), "segments"},
      {"cycle", plain(node("Add", "x c", "b") + node("Neg", "b", "c") + node("Neg", "c", "y")),
       "circle"},
      {"own tail", plain(node("Add", "x y", "y")), "circle"},
      {"missing", plain(node("Add", "x gone", "y")), "reads 'gone', which nothing computes"},
      {"twice", plain(node("Neg", "x", "y") + node("Relu", "x", "y")), "two nodes compute 'y'"},
      {"over an input", plain(node("Neg", "x", "x") + node("Relu", "x", "y")), ""},
      {"no output", "graph {" + value("input", "x", "2") + node("Neg", "x", "y") + "}",
       "no outputs"},
      {"lost output", plain(node("Neg", "x", "z")), "nothing computes the output 'y'"},
      {"two inputs", plain(value("input", "x", "3") + node("Neg", "x", "y")), "two inputs"},
      {"opset 25", set + "25 }" + plain(node("Neg", "x", "y")), "opset 25 is not supported"},
      {"opset 0", set + "0 }" + plain(node("Neg", "x", "y")), "opset 0 is not supported"},
      {"opset -1", set + "-1 }" + plain(node("Neg", "x", "y")), "opset -1 is not supported"},
      {"two opsets", set + "13 }" + set + "14 }" + plain(node("Neg", "x", "y")), "two opsets"},
      {"no domain", plain(node("Neg", "x", "y", "domain: \"a.b\"")),
       "imports no opset of domain 'a.b'"},
      {"negative dim",
       "graph {" + value("input", "x", "-2") + node("Neg", "x", "y") + value("output", "y", "2") +
           "}",
       "--shape x"},
      {"huge dim",
       "graph {" + value("input", "x", "9223372036854775807") + node("Neg", "x", "y") +
           value("output", "y", "2") + "}",
       "extent"},
      {"sequence",
       "graph { input { name: \"x\" type { sequence_type { elem_type { tensor_type { elem_type: 1 "
       "} } } } }" +
           node("Neg", "x", "y") + value("output", "y", "2") + "}",
       "is a sequence"},
      {"attribute twice",
       plain(node("Elu", "x", "y",
                  "attribute { name: \"alpha\" type: FLOAT f: 1 } attribute { name: \"alpha\" "
                  "type: FLOAT f: 2 }")),
       "given twice"},
      {"loose reference",
       plain(
           node("Elu", "x", "y", "attribute { name: \"alpha\" ref_attr_name: \"a\" type: FLOAT }")),
       "refers to nothing"},
      {"sparse",
       "graph { sparse_initializer { values { name: \"s\" dims: 1 data_type: 1 float_data: 1 } "
       "indices { dims: 1 data_type: 7 int64_data: 9 } dims: 2 }" +
           value("input", "x", "2") + node("Add", "x s", "y") + value("output", "y", "2") + "}",
       "index outside"},
  };
}

TEST(Hostile, LiesAreRefused) {
  for (const Lie& lie : lies()) {
    const std::string said = refusal(lie.text);
    EXPECT_TRUE(!said.empty() && says(said, lie.answer)) << lie.what << ": " << said;
  }
}

TEST(Hostile, OtherFilesAreNoModels) {
  for (const std::string& bytes : {std::string(), std::string("\x89PNG\r\n\x1a\n"),
                                   std::string(100, '\xff'), std::string("hello, world")}) {
    EXPECT_THROW(import_bytes(bytes, ""), UserError);
  }
  EXPECT_THROW(import_file("/nonexistent/model.onnx"), UserError);
  EXPECT_THROW(import_file("/"), UserError);
  EXPECT_THROW(import_file("/dev/zero"), UserError);
  EXPECT_THROW(check_file("/dev/null"), UserError);
}

TEST(Hostile, EveryTruncationIsRefusedOrImported) {
  const std::string bytes = model_bytes(plain(node("Neg", "x", "y")));
  for (size_t n = 0; n < bytes.size(); ++n) {
    try {
      import_bytes(bytes.substr(0, n), "");
    } catch (const UserError&) {
      continue;
    }
  }
}

// ---- little bytes, much work ------------------------------------------------------------------

// By the processor's time, which does not depend on what else the machine does.
class Quick {
 public:
  ~Quick() {
    EXPECT_LT(std::clock() - start_, 20 * CLOCKS_PER_SEC);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    EXPECT_LT(usage.ru_maxrss, (int64_t{2} << 30) / 1024);
  }

 private:
  std::clock_t start_ = std::clock();
};

TEST(Hostile, ManyEmptyMessages) {
  const Quick quick;
  proto::ModelProto m;
  m.add_opset_import()->set_version(17);
  std::string nodes;
  for (int i = 0; i < 8'000'000; ++i) nodes += std::string("\x0a\x00", 2);  // GraphProto.node {}
  std::string bytes = m.SerializeAsString();
  bytes += '\x3a';  // ModelProto.graph
  for (size_t n = nodes.size();; n >>= 7) {
    bytes += static_cast<char>(n >= 128 ? (n & 127) | 128 : n);
    if (n < 128) break;
  }
  EXPECT_THROW(
      try { import_bytes(bytes + nodes, ""); } catch (const UserError& e) {
        EXPECT_TRUE(says(e.what(), "too many small parts")) << e.what();
        throw;
      },
      UserError);
}

TEST(Hostile, DeepSubgraphs) {
  const Quick quick;
  std::string inner = node("Neg", "x", "y");
  for (int i = 0; i < 200; ++i) {
    inner =
        "node { op_type: \"If\" output: \"y\" attribute { name: \"then_branch\" type: GRAPH g {" +
        inner + "} } }";
  }
  EXPECT_THROW(import_bytes(model_bytes(plain(inner)), ""), UserError);
}

TEST(Hostile, ConstantsOfEnormousShape) {
  const Quick quick;
  // Twenty constants of 240 MB each.
  std::string body = "initializer { name: \"s\" dims: 1 data_type: 7 int64_data: 60000000 }";
  for (int i = 0; i < 20; ++i) body += node("ConstantOfShape", "s", "c" + std::to_string(i));
  EXPECT_NE(refusal(plain(body + node("Add", "x c19", "y"))), "");
  const std::string one = "initializer { name: \"s\" dims: 1 data_type: 7 int64_data: 2000000000 }";
  EXPECT_NE(refusal(plain(one + node("ConstantOfShape", "s", "y"))), "");
}

TEST(Hostile, LoopsInLoops) {
  const Quick quick;
  const std::string head =
      "initializer { name: \"n\" data_type: 7 int64_data: 1000 } initializer { name: \"go\" "
      "data_type: 9 int32_data: 1 }";
  const auto loop = [](const std::string& body, int level) {
    const std::string l = std::to_string(level);
    return node("Loop", "n go", "out" + l,
                "attribute { name: \"body\" type: GRAPH g { name: \"b\"\n" +
                    value("input", "i" + l, "", 7) + value("input", "c" + l, "", 9) + body +
                    node("Identity", "c" + l, "k" + l) + node("Identity", "i" + l, "r" + l) +
                    value("output", "k" + l, "", 9) + value("output", "r" + l, "", 7) + "} }");
  };
  const std::string text = plain(head + loop(loop(loop("", 2), 1), 0) + node("Neg", "x", "y"));
  const std::string said = refusal(text);
  EXPECT_TRUE(says(said, "node '") && says(said, "every turn of a loop")) << said;
}

TEST(Hostile, ALayerOfTooManySteps) {
  const Quick quick;
  const std::string weights = value("input", "w", "1 8 1") + value("input", "r", "1 8 2");
  const std::string said =
      refusal("graph {" + value("input", "x", "5000 1 1") + weights +
              node("LSTM", "x w r", "y", "name: \"memory\"") + value("output", "y", "") + "}");
  EXPECT_TRUE(says(said, "memory") && says(said, "5000 steps")) << said;
}

// ---- external data ----------------------------------------------------------------------------

class ExternalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("tenon_external_" + std::to_string(getpid()));
    folder_ = root_ / "model";
    fs::create_directories(folder_ / "sub");
    std::ofstream(folder_ / "sub" / "w.bin", std::ios::binary)
        << std::string("\0\0\x80\x3f\0\0\0\x40", 8);
    std::ofstream(root_ / "secret.bin", std::ios::binary) << "12345678";
    fs::create_symlink(root_ / "secret.bin", folder_ / "link.bin");
    fs::create_symlink(root_, folder_ / "up");
    fs::create_symlink(folder_ / "sub", folder_ / "inside");
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string import(const std::string& location, const std::string& more = "",
                     const std::string& dims = "dims: 2") {
    const std::string text = with_weight(
        dims + " data_type: 1 data_location: EXTERNAL external_data { key: \"location\" value: \"" +
        location + "\" }" + more);
    std::ofstream(folder_ / "m.onnx", std::ios::binary) << model_bytes(text);
    try {
      const Imported m = import_file((folder_ / "m.onnx").string());
      for (const graph::Value& v : m.graph.values) {
        if (v.constant()) return std::to_string(v.data->get_double(v.elements() - 1));
      }
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  }

  fs::path root_, folder_;
};

std::string entry(const std::string& key, const std::string& v) {
  return " external_data { key: \"" + key + "\" value: \"" + v + "\" }";
}

TEST_F(ExternalTest, IsReadFromTheFolder) {
  EXPECT_EQ(import("sub/w.bin"), "2.000000");
  EXPECT_EQ(import("./sub/../sub/w.bin", entry("offset", "0") + entry("length", "8")), "2.000000");
  EXPECT_EQ(import("inside/w.bin"), "2.000000");
  EXPECT_EQ(import("sub/w.bin", entry("offset", "4"), "dims: 1"), "2.000000");
}

TEST_F(ExternalTest, MayNotLeaveTheFolder) {
  const std::string outside = "lie outside of the model's folder";
  EXPECT_TRUE(says(import("../secret.bin"), outside));
  EXPECT_TRUE(says(import("sub/../../secret.bin"), outside));
  EXPECT_TRUE(says(import("link.bin"), outside));
  EXPECT_TRUE(says(import("up/secret.bin"), outside));
  EXPECT_TRUE(says(import((root_ / "secret.bin").string()), "inside the model's folder is wanted"));
  EXPECT_TRUE(says(import("/dev/zero"), "inside the model's folder is wanted"));
  EXPECT_TRUE(says(import(""), "inside the model's folder is wanted"));
}

TEST_F(ExternalTest, MustHoldWhatTheShapeWants) {
  EXPECT_TRUE(says(import("sub/w.bin", entry("offset", "4")), "end after 8 bytes"));
  EXPECT_TRUE(says(import("sub/w.bin", entry("length", "4")), "of 4 bytes, the shape wants 8"));
  EXPECT_TRUE(says(import("sub/w.bin", entry("offset", "-4")), "is not a number"));
  EXPECT_TRUE(says(import("sub/w.bin", entry("offset", "9223372036854775807")), "end after"));
  EXPECT_TRUE(
      says(import("sub/w.bin", entry("offset", "99999999999999999999")), "is not a number"));
  EXPECT_TRUE(says(import("sub/w.bin", "", "dims: 10000000 dims: 1000000"), "too many"));
  EXPECT_TRUE(says(import("sub/w.bin", "", "dims: 1000000 dims: 100000"), "end after 8 bytes"));
  EXPECT_TRUE(says(import("sub"), "not a file"));
  EXPECT_TRUE(says(import("gone.bin"), "No such file"));
}

TEST_F(ExternalTest, ManyTensorsMayNotReadTheSameBytes) {
  std::ofstream(folder_ / "big.bin", std::ios::binary) << std::string(4096, '\0');
  std::string text =
      "graph {" + value("input", "x", "1") + node("Add", "x w0", "y") + value("output", "y", "1");
  for (int i = 0; i < 100; ++i) {
    text += " initializer { name: \"w" + std::to_string(i) +
            "\" data_location: EXTERNAL dims: 1000 data_type: 1" + entry("location", "big.bin") +
            entry("offset", std::to_string(i)) + "}";
  }
  std::ofstream(folder_ / "m.onnx", std::ios::binary) << model_bytes(text + "}");
  try {
    import_file((folder_ / "m.onnx").string());
    FAIL();
  } catch (const UserError& e) {
    EXPECT_TRUE(says(e.what(), "again and again")) << e.what();
  }
}

}  // namespace
}  // namespace tenon::onnx
