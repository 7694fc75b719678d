// SPDX-License-Identifier: Apache-2.0
// Commands that need no model, and what all commands have in common.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/private_folder.h"
#include "tools/tenon_command.h"

namespace tenon::testing {
namespace {

using Json = nlohmann::json;

std::string folder() {
  const std::string path = ::testing::TempDir() + "tenon_housekeeping";
  std::filesystem::create_directories(path);
  return path;
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Through a shell, for tests of the environment.
Outcome shell(const std::string& line) { return run_command({"/bin/sh", "-c", line}); }

const std::string kTenon = TENON_BINARY;

TEST(Housekeeping, JsonIsOneDocumentWithASchema) {
  const struct {
    Args args;
    const char* schema;
  } rows[] = {
      {{"version", "--json"}, "tenon.version/1"},
      {{"--json", "version"}, "tenon.version/1"},
      {{"doctor", "--json"}, "tenon.doctor/1"},
      {{"licenses", "--json", "--full"}, "tenon.licenses/1"},
      {{"completion", "bash", "--json"}, "tenon.completion/1"},
      {{"zoo", "ls", "--json"}, "tenon.zoo/1"},
  };
  for (const auto& row : rows) {
    const Outcome o = tenon(row.args);
    EXPECT_EQ(o.exit_code, 0) << o.err;
    EXPECT_EQ(o.err, "");
    EXPECT_EQ(Json::parse(o.out)["schema"], row.schema);
  }
}

TEST(Housekeeping, EveryCommandHasBothHelps) {
  const Outcome all = tenon({"--help"});
  EXPECT_EQ(all.exit_code, 0);
  for (const char* name :
       {"check", "compile", "tune", "run", "bench", "compare", "verify", "profile", "explain",
        "report", "zoo", "doctor", "version", "licenses", "completion", "help"}) {
    EXPECT_TRUE(contains(all.out, std::string("\n  ") + name + " ")) << name;
    const Outcome brief = tenon({name, "-h"});
    const Outcome full = tenon({name, "--help"});
    const Outcome page = tenon({"help", name});
    EXPECT_EQ(brief.exit_code, 0) << name;
    EXPECT_TRUE(contains(brief.out, "examples:\n  tenon " + std::string(name))) << brief.out;
    EXPECT_FALSE(contains(brief.out, "exit codes:")) << name;
    EXPECT_TRUE(contains(full.out, "exit codes:")) << name;
    EXPECT_TRUE(contains(full.out, "--log-file")) << name;
    EXPECT_EQ(page.out, full.out) << name;
    EXPECT_EQ(brief.err + full.err + page.err, "") << name;
  }
}

TEST(Housekeeping, VersionIsALine) {
  const Json answer = Json::parse(tenon({"version", "--json"}).out);
  for (const char* option : {"-V", "--version"}) {
    const Outcome o = tenon({option});
    EXPECT_EQ(o.exit_code, 0) << o.err;
    EXPECT_EQ(o.out, "tenon " + answer["version"].get<std::string>() + "\n");
  }
}

TEST(Housekeeping, EveryCommandHasAManualPage) {
  const std::string dir = folder() + "/man";
  EXPECT_EQ(tenon({"help", "--man-pages", dir}).exit_code, 0);
  EXPECT_TRUE(contains(read(dir + "/tenon.1"), ".B tenon\\-compile(1)")) << read(dir + "/tenon.1");
  const std::string page = read(dir + "/tenon-compile.1");
  for (const char* part : {".SH NAME\ntenon\\-compile \\- Turn", "\\-\\-target", ".SH EXAMPLES"}) {
    EXPECT_TRUE(contains(page, part)) << part;
  }
  EXPECT_TRUE(contains(read(dir + "/tenon-db.1"), ".SS export"));
  if (std::system("command -v man >/dev/null") != 0) return;  // this machine cannot show them
  const Outcome shown = shell("man --warnings -E UTF-8 -l -Tutf8 -Z " + dir + "/*.1 > /dev/null");
  EXPECT_EQ(shown.err, "") << "man finds nothing odd";
}

TEST(Housekeeping, AFolderThatCannotBeMadeIsTheUsersMistake) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"help", "--man-pages", "/proc/none"},
        {"zoo", "write", "bert_tiny", "-o", "/proc/none/"}}) {
    const Outcome o = tenon(words);
    EXPECT_EQ(o.exit_code, 2) << o.err;
    EXPECT_TRUE(contains(o.err, "/proc/none")) << o.err;
    EXPECT_TRUE(contains(o.err, "this folder cannot be made: ")) << o.err;
  }
}

TEST(Housekeeping, HelpFitsTheTerminal) {
  const Outcome o = shell("COLUMNS=60 " + kTenon + " compile --help");
  std::istringstream lines(o.out);
  bool examples = false;
  for (std::string line; std::getline(lines, line);) {
    examples = line == "examples:" || (examples && line.starts_with("  "));
    if (!examples && !line.starts_with("usage:")) {
      EXPECT_LE(line.size(), 60U) << line;
    }
  }
}

TEST(Housekeeping, SettingsComeFromTheEnvironmentAndFiles) {
  const std::string dir = folder() + "/settings";
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir + "/config/tenon");
  std::filesystem::create_directories(dir + "/here");
  std::ofstream(dir + "/config/tenon/config.toml") << "[zoo]\nseed = 5\nbatch = 3\n";
  const std::string env = "cd " + dir + "/here && XDG_CONFIG_HOME=" + dir + "/config ";
  const auto seed = [&](const std::string& more, const std::string& args) {
    const Outcome o =
        shell(env + more + " " + kTenon + " zoo write dqn -o " + dir + "/m.onnx --json " + args);
    EXPECT_EQ(o.exit_code, 0) << o.err;
    return Json::parse(o.out)["written"][0]["seed"].get<int>();
  };
  EXPECT_EQ(seed("", ""), 5);
  std::ofstream(dir + "/here/tenon.toml") << "seed = 6\n";
  EXPECT_EQ(seed("", ""), 6);
  EXPECT_EQ(seed("TENON_SEED=7", ""), 7);
  EXPECT_EQ(seed("TENON_SEED=7", "--seed 8"), 8);
  EXPECT_EQ(seed("TENON_SEED=7", "--seed=9"), 9);
  std::ofstream(dir + "/here/tenon.toml") << "sede = 6\n";
  const Outcome bad = shell(env + kTenon + " zoo ls");
  expect_user_error(bad, "tenon.toml: there is no setting 'sede' (did you mean 'seed'?)");
  std::ofstream(dir + "/here/tenon.toml") << "[zo]\nseed = 6\n";
  expect_user_error(shell(env + kTenon + " zoo ls"), "did you mean 'zoo'?");
}

TEST(Housekeeping, LogFileAndQuietAndColour) {
  const std::string log = folder() + "/log.txt";
  std::filesystem::remove(log);
  EXPECT_EQ(tenon({"version", "--log-file", log}).exit_code, 0);
  EXPECT_EQ(tenon({"explain", "--te", "no.te", "--log-file", log}).exit_code, 2);
  const std::string text = read(log);
  EXPECT_TRUE(contains(text, "$ tenon version --log-file")) << text;
  EXPECT_TRUE(contains(text, "error: no.te: cannot be read")) << text;
  EXPECT_FALSE(contains(tenon({"compute"}).err, "\033"))
      << "no colours unless stderr is a terminal";
}

TEST(Housekeeping, AFullDiskIsAnError) {
  const Outcome o = shell(kTenon + " version > /dev/full");
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_TRUE(contains(o.err, "stdout cannot be written")) << o.err;
}

TEST(Doctor, SaysWhatDisturbs) {
  const Json answer = Json::parse(tenon({"doctor", "--json"}).out);
  std::set<std::string> names;
  for (const Json& fact : answer["facts"]) {
    names.insert(fact["name"].get<std::string>());
    EXPECT_NE(fact["value"], "") << fact["name"];
  }
  for (const char* name :
       {"governor", "turbo", "smt", "load", "cpuset", "clocks", "caches", "vectors", "memory",
        "kernel", "LLVM", "tenon", "card", "CUDA driver", "ptxas", "rates"}) {
    EXPECT_EQ(names.count(name), 1U) << name;
  }
}

TEST(Doctor, MeasuresNothingWhereItCannotKeepIt) {
  const Outcome o = shell("XDG_STATE_HOME=/proc/none " + kTenon + " doctor --calibrate");
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_TRUE(contains(o.err, "XDG_STATE_HOME")) << o.err;
}

TEST(Doctor, KeepsWhatItMeasured) {
  const PrivateFolder folder = PrivateFolder::temporary("doctor");
  const std::string state = "XDG_STATE_HOME=" + folder.path().string() + " " + kTenon;
  const Outcome before = shell(state + " doctor --no-hints");
  EXPECT_FALSE(contains(before.out, ", measured")) << before.out;
  const Outcome now = shell(state + " doctor --no-hints --calibrate");
  EXPECT_EQ(now.exit_code, 0) << now.err;
  EXPECT_TRUE(contains(now.out, ", measured")) << now.out;
  const Outcome later = shell(state + " doctor --no-hints");
  EXPECT_TRUE(contains(later.out, ", measured")) << later.out;
}

TEST(Program, LinksNoXGBoost) {
  const Outcome o = run_command({"/usr/bin/env", "readelf", "--dynamic", kTenon});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_TRUE(contains(o.out, "libc.so.6")) << o.out;
  for (const char* library : {"libxgboost", "libgomp", "libdmlc"}) {
    EXPECT_FALSE(contains(o.out, library)) << "it is loaded when a model asks for it: " << o.out;
  }
}

TEST(Program, IsTheCompilerOfTuningByName) {
  const std::string build = kTenon + "-build";
  EXPECT_TRUE(std::filesystem::equivalent(build, kTenon));
  for (const Args& args : {Args{build, "version"}, Args{kTenon, "tenon-build", "version"}}) {
    const Outcome o = run_command(args);
    EXPECT_EQ(o.exit_code, 2);
    EXPECT_EQ(o.err, "tenon-build is a part of tenon that compiles; it is not started by hand\n");
  }
}

TEST(Licenses, NamesEveryPart) {
  const Outcome o = tenon({"licenses"});
  for (const char* part :
       {"tenon", "LLVM", "Protocol Buffers", "ONNX", "CLI11", "nlohmann json", "pybind11", "fmt",
        "zlib", "Zstandard", "SQLite", "XGBoost", "dmlc-core", "GCC runtime"}) {
    EXPECT_TRUE(contains(o.out, part)) << part;
  }
  const Outcome full = tenon({"licenses", "--full"});
  EXPECT_TRUE(contains(full.out, "Apache License"));
  EXPECT_FALSE(contains(full.out, "The notice lies with")) << "each has its notice";
  EXPECT_GT(full.out.size(), 20000U);
}

TEST(Zoo, ListsAndWrites) {
  const Json list = Json::parse(tenon({"zoo", "ls", "--json"}).out);
  EXPECT_GE(list["models"].size(), 14U);
  const std::string dir = folder() + "/zoo/";
  const Outcome o =
      tenon({"zoo", "write", "dqn", "squeezenet1_1", "-o", dir, "--seed", "4", "--json"});
  EXPECT_EQ(o.exit_code, 0) << o.err;
  const Json answer = Json::parse(o.out);
  for (const Json& model : answer["written"]) {
    const std::string file = model["file"];
    EXPECT_EQ(std::filesystem::file_size(file), model["bytes"].get<size_t>());
  }
  const Outcome raw = tenon({"zoo", "write", "dqn", "-o", "-", "--seed", "4"});
  EXPECT_EQ(raw.out, read(dir + "dqn.onnx")) << "'-' writes the same bytes to stdout";
  expect_user_error(tenon({"zoo", "write", "dqn", "--image", "64"}),
                    "there is no --image to choose");
}

TEST(Completion, ShellsAcceptTheScripts) {
  for (const char* name : {"bash", "zsh", "fish"}) {
    const Outcome o = tenon({"completion", name});
    EXPECT_EQ(o.exit_code, 0) << o.err;
    for (const char* word : {"compile", "--target", "--json", "resnet50"}) {
      EXPECT_TRUE(
          contains(o.out, std::string(word).substr(std::string(word).find_first_not_of('-'))))
          << name << " lacks " << word;
    }
    if (std::system((std::string("command -v ") + name + " >/dev/null").c_str()) != 0) {
      continue;  // this machine has no such shell
    }
    const std::string file = folder() + "/completion." + name;
    std::ofstream(file) << o.out;
    EXPECT_EQ(run_command({"/usr/bin/env", name, "-n", file}).exit_code, 0) << name;
  }
}

TEST(Completion, BashCompletesCommandsOptionsAndValues) {
  const std::string file = folder() + "/tenon.bash";
  std::ofstream(file) << tenon({"completion", "bash"}).out;
  const auto complete = [&](const std::string& words, int at) {
    return run_command({"/usr/bin/env", "bash", "-c",
                        "source " + file + "; COMP_WORDS=(" + words + "); COMP_CWORD=" +
                            std::to_string(at) + "; _tenon; echo \"${COMPREPLY[*]}\""})
        .out;
  };
  EXPECT_EQ(complete("tenon compi", 1), "compile\n");
  EXPECT_TRUE(contains(complete("tenon zoo write resn", 3), "resnet18 resnet50"));
  EXPECT_TRUE(contains(complete("tenon compile --tar", 2), "--target"));
  EXPECT_EQ(complete("tenon version --progress n", 3), "none\n");
  EXPECT_EQ(complete("tenon zoo w", 2), "write\n");
}

}  // namespace
}  // namespace tenon::testing
