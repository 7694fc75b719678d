// SPDX-License-Identifier: Apache-2.0
// Programs and libraries that were not made together: options of other sizes, versions, one file without its weights, the
// class for C++.
#include <gtest/gtest.h>

#include <fstream>

#include "artifact/commands.h"
#include "artifact/data_object.h"
#include "artifact/model.h"
#include "artifact/programs.h"
#include "artifact/verify.h"
#include "artifact/write.h"

namespace tenon::artifact {
namespace {

namespace fs = std::filesystem;

// Knows only the first fields of the options, or more than there are.
constexpr const char* kOldCaller = R"(
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
struct old_options { size_t size; int32_t threads; };
struct new_options { size_t size; int32_t threads; char rest[200]; const char* later; };
typedef void* (*create_with)(const void*, const char**);
typedef int (*run)(void*, const void* const*, void* const*);
static float in[51], out[87];
static int try_it(void* library, const void* options) {
  const char* why = "";
  void* ctx = ((create_with)dlsym(library, "net_create_with"))(options, &why);
  if (ctx == NULL) { puts(why); return 1; }
  const void* inputs[] = {in};
  void* outputs[] = {out};
  const int status = ((run)dlsym(library, "net_run"))(ctx, inputs, outputs);
  ((void (*)(void*))dlsym(library, "net_destroy"))(ctx);
  return status;
}
int main(int argc, char** argv) {
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL || argc < 2) { puts(dlerror()); return 9; }
  puts(((const char* (*)(void))dlsym(library, "net_version"))());
  for (int i = 0; i < 51; ++i) in[i] = (float)i;
  struct old_options old = {sizeof old, 2};
  if (try_it(library, &old) != 0) return 2;
  struct new_options later;
  memset(&later, 0, sizeof later);
  later.size = sizeof later;
  if (try_it(library, &later) != 0) return 3;
  later.later = "x";
  if (try_it(library, &later) != 1) return 4;
  old.size = 0;
  if (try_it(library, &old) != 1) return 5;
  return try_it(library, NULL);
}
)";

class Abi : public ::testing::Test {
 protected:
  void SetUp() override { write(net_.program(), {out_, parse_outputs("so,h")}); }
  ScratchFolder folder_;
  std::string out_ = folder_ / "out";
  Chain net_ = small_network("net", target::host_target());
};

TEST_F(Abi, CallersOfOtherVersionsAreUnderstood) {
  write_text(folder_ / "old.c", kOldCaller);
  run_ok({TENON_CC, "-std=gnu99", folder_ / "old.c", "-ldl", "-o", folder_ / "old"});
  const std::string said = output_of({folder_ / "old", out_ + "/libnet.so"});
  for (const char* part :
       {"tenon 0.", ", interface 4\n", "the options set something that this library of tenon",
        "the options do not say their size: set their first field to sizeof(net_options)"}) {
    EXPECT_NE(said.find(part), std::string::npos) << part << "\n" << said;
  }
}

TEST_F(Abi, TheLibraryHasItsNameInside) {
  const std::string dynamic = output_of({"readelf", "-dW", out_ + "/libnet.so"});
  EXPECT_NE(dynamic.find("Library soname: [libnet.so]"), std::string::npos) << dynamic;
}

TEST_F(Abi, TheClassForCppIsStrictAndRuns) {
  const std::string source = std::string(TENON_EXAMPLES) + "/cpp_model/main.cpp";
  for (const char* compiler : {TENON_CXX, "g++-12"}) {
    const std::string program = out_ + "/cpp";
    run_ok({compiler, "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", source, "-I", out_,
            out_ + "/libnet.so", "-Wl,-rpath," + out_, "-o", program});
    EXPECT_EQ(output_of({program}), expected_print(net_)) << compiler;
    EXPECT_EQ(output_of({program, "2"}), expected_print(net_)) << compiler;
  }
}

// Prints what the class says to buffers that do not fit.
constexpr const char* kMisfits = R"(
#include <net.hpp>
#include <array>
#include <cstdio>
template <class F> void say(F&& f) {
  try { f(); std::puts("accepted"); } catch (const std::exception& e) { std::puts(e.what()); }
}
int main() {
  net_model m(1);
  auto x = m.make_input<float>(0);
  auto y = m.make_output<float>(0);
  std::array<float, 51> fixed{};
  say([&] { m.run({fixed}, {y}); });
  std::vector<int> whole(x.size());
  std::vector<float> few(3);
  say([&] { m.run({whole}, {y}); });
  say([&] { m.run({few}, {y}); });
  say([&] { m.run({x, x}, {y}); });
  say([&] { m.output(7); });
  say([&] { m.set_shape(0, {1, 1}); });
  net_options o = net_options();
  o.weights_path = "/nothing/here";
  say([&] { net_model other(o); });
}
)";

TEST_F(Abi, TheClassForCppSaysWhatDoesNotFit) {
  write_text(folder_ / "misfits.cpp", kMisfits);
  run_ok({"g++-12", "-std=c++17", "-Wall", "-Wextra", "-Werror", folder_ / "misfits.cpp", "-I",
          out_, out_ + "/libnet.so", "-Wl,-rpath," + out_, "-o", folder_ / "misfits"});
  const std::string said = output_of({folder_ / "misfits"});
  for (const char* part : {"accepted\nx is f32, not i32\nx has 204 bytes, not 12\n",
                           "the model has 1 inputs, not 2\nno output 7\n", "are not there"}) {
    EXPECT_NE(said.find(part), std::string::npos) << part << "\n" << said;
  }
}

TEST_F(Abi, WeightsInsideTheLibraryNeedNoFile) {
  const std::string alone = folder_ / "alone";
  const Written written = write(net_.program(), {out_, parse_outputs("so,a,h,embed")});
  EXPECT_EQ(std::count(written.files.begin(), written.files.end(), "net.weights"), 0);
  EXPECT_FALSE(fs::exists(out_ + "/net.weights")) << "the one that was there is not of this build";
  EXPECT_EQ(verify(out_).problems(), 0U);
  const auto inputs = net_.random_inputs(3);
  EXPECT_EQ(difference(net_.expected(inputs), Session(Model::load(out_), 2).run(inputs)), "");
  fs::create_directories(alone);
  fs::copy(out_ + "/libnet.so", alone);
  const std::string source = std::string(TENON_EXAMPLES) + "/c_api/main.c";
  run_ok({TENON_CC, source, "-I", out_, alone + "/libnet.so", "-Wl,-rpath," + alone, "-o",
          folder_ / "shared"},
         kStrictC);
  run_ok({TENON_CC, source, "-I", out_, out_ + "/libnet.a", "-lm", "-lpthread", "-o",
          folder_ / "static"},
         kStrictC);
  EXPECT_EQ(output_of({folder_ / "shared"}), expected_print(net_));
  EXPECT_EQ(output_of({folder_ / "static"}), expected_print(net_));
}

TEST_F(Abi, WeightsThatAreTooLargeForALibraryAreRefused) {
  Program large = net_.program();
  large.weights_bytes = kMostEmbedded + 64;
  try {
    write(large, {folder_ / "large", parse_outputs("so,embed")});
    ADD_FAILURE();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("cannot lie inside a library"), std::string::npos)
        << e.what();
  }
  EXPECT_FALSE(fs::exists(folder_ / "large"));
}

}  // namespace
}  // namespace tenon::artifact
