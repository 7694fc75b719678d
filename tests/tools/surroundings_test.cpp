// SPDX-License-Identifier: Apache-2.0
// Folders, models, terminals and disks of others: what they say or lack never becomes an action of tenon's.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "artifact/model.h"
#include "files/file.h"
#include "support/text.h"
#include "tools/tenon_command.h"
#include "tools/tune_run.h"
#include "zoo/model_builder.h"

namespace tenon::testing {
namespace {

namespace fs = std::filesystem;

const std::string kTenon = TENON_BINARY;

Outcome shell(const std::string& line) { return run_command({"/bin/sh", "-c", line}); }

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// ---- settings of the current folder --------------------------------------------------------------------------------

// Options of all commands whose values are files, folders or more than that.
std::set<std::string> path_options() {
  std::set<std::string> names = {"reference", "yes", "inputs", "bind", "cost-model"};
  const std::regex row(R"(--([a-z-]+) (FILE|DIR|PATH|NAME\|FILE|NAME=@FILE)\b)");
  for (const char* command : {"check", "compile", "tune", "run", "bench", "compare", "profile",
                              "explain", "report", "replay", "zoo", "db", "gather"}) {
    const std::string help = tenon({"help", command}).out;
    for (std::sregex_iterator it(help.begin(), help.end(), row), end; it != end; ++it) {
      names.insert((*it)[1]);
    }
  }
  return names;
}

TEST(Surroundings, TheCurrentFolderNamesNoFilesAndPrograms) {
  const TuneFolder f("here");
  const std::string log = f.path("log").string();
  const std::set<std::string> names = path_options();
  for (const char* known : {"log-file", "output", "db", "lock", "html", "outputs"}) {
    EXPECT_TRUE(names.contains(known)) << known << " was not found in the help";
  }
  for (const std::string& name : names) {
    if (name == "model") continue;  // is not an option of settings
    std::ofstream(f.path("tenon.toml")) << name << " = \"" << log << "\"\n";
    const Outcome o = shell("cd " + f.path("").string() + " && " + kTenon + " version");
    EXPECT_EQ(o.exit_code, 2) << name;
    EXPECT_TRUE(contains(o.err, "tenon.toml: '" + name + "' is not taken from the current folder"))
        << o.err;
    EXPECT_TRUE(contains(o.err, "--" + name + " on the command line")) << o.err;
    EXPECT_TRUE(contains(o.err, "config.toml")) << o.err;
  }
  EXPECT_FALSE(fs::exists(log));
  // The user's own file may.
  fs::remove(f.path("tenon.toml"));
  fs::create_directories(f.path("config/tenon"));
  std::ofstream(f.path("config/tenon/config.toml")) << "log-file = \"" << log << "\"\n";
  const Outcome own =
      shell("XDG_CONFIG_HOME=" + f.path("config").string() + " " + kTenon + " version");
  EXPECT_EQ(own.exit_code, 0) << own.err;
  EXPECT_TRUE(contains(read(log), "$ tenon version")) << read(log);
}

TEST(Surroundings, ALogIsNotALink) {
  const TuneFolder f("log_link");
  std::ofstream(f.path("precious")) << "keep\n";
  fs::create_symlink(f.path("precious"), f.path("log"));
  expect_user_error(tenon({"version", "--log-file", f.path("log").string()}), "it is a link");
  EXPECT_EQ(read(f.path("precious")), "keep\n");
}

// ---- names of models -----------------------------------------------------------------------------------------------

const std::string kBad = "n\nINJECTED\x1b[2J\x7f\xC2\x9B\xE2\x80\xAE*/";

std::string hostile_model() {
  zoo::ModelBuilder m("net", 13, 1);
  const zoo::Shape shape = {16, 16};
  const zoo::Tensor x = m.input("x" + kBad, zoo::Element::kFloat, shape);
  const zoo::Tensor y =
      m.node("MatMul", "first" + kBad, {x, m.weight("a" + kBad, shape, 0.25)}, shape);
  m.output(m.node("Relu", "second" + kBad, {y}, shape), "y" + kBad);
  return m.bytes();
}

void expect_harmless(const std::string& text, const std::string& where) {
  for (size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    EXPECT_TRUE(c.bytes > 0 && (!is_control(c.code) || c.code == '\n' || c.code == '\t'))
        << where << ", byte " << at << ": " << escaped(text.substr(at, 20));
    at += std::max<size_t>(c.bytes, 1);
  }
}

void expect_no_lines_of_others(const std::string& text, const std::string& where) {
  const size_t at = text.find("\nINJECTED");
  EXPECT_EQ(at, std::string::npos) << where << ": " << text.substr(at < 80 ? 0 : at - 80, 160);
}

TEST(Surroundings, NamesOfModelsAreEscapedWhereverTheyAreShown) {
  const TuneFolder f("names");
  const std::string model = f.path("bad.onnx").string();
  const std::string out = f.path("bad").string();
  const std::string log = f.path("log").string();
  const std::string db = f.path("t.db").string();
  files::write_file(model, hostile_model());
  const std::vector<Args> rows = {
      {"check", model},
      {"compile", model, "-o", out, "-v"},
      {"explain", out},
      {"explain", out, "--show", "layouts", "--html", f.path("net.html").string()},
      {"run", out},
      {"compare", model, out},
      {"compare", model, out, "--bisect"},
      {"profile", out, "--runs", "1", "--trace", f.path("trace.json").string()},
      {"tune", model, "-o", out, "--sim", "--trials", "8", "--population", "24", "--db", db},
      {"tune", model, "--dry-run", "--sim", "--db", db},
      {"report", "--db", db},
      {"report", "--db", db, "--html", f.path("run.html").string()},
      {"db", "ls", "--db", db},
      {"db", "why-miss", model, "--db", db},
      {"run", out, "--inputs", "nothing=@" + kBad + ".npy"},
      {"explain", out, "--task", kBad},
  };
  for (const Args& row : rows) {
    for (const bool json : {false, true}) {
      Args args = row;
      args.insert(args.end(), {"--log-file", log});
      if (json) args.push_back("--json");
      const Outcome o = tenon(args);
      const std::string where = row[0] + (json ? " --json" : "") + " " + row.back();
      EXPECT_NE(o.exit_code, 1) << where << "\n" << o.err;
      EXPECT_NE(o.exit_code, -1) << where << "\n" << o.err;
      for (const std::string& text : {o.out, o.err}) {
        expect_harmless(text, where);
        expect_no_lines_of_others(text, where);
      }
      if (json && o.exit_code == 0) {
        EXPECT_FALSE(nlohmann::json::parse(o.out, nullptr, false).is_discarded()) << where;
      }
    }
  }
  expect_harmless(read(log), "log");
  expect_no_lines_of_others(read(log), "log");
  expect_harmless(read(f.path("net.html")), "explain --html");
  expect_harmless(read(f.path("run.html")), "report --html");
  const std::string header = read(fs::path(out) / "bad.h");
  expect_harmless(header, "header");
  expect_no_lines_of_others(header, "header");
  std::istringstream lines(header);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_FALSE(contains(line, "puts[") && contains(line, "*/")) << "the comment ends: " << line;
  }
  // Nothing is lost where names are kept.
  const artifact::Model loaded = artifact::Model::load(out);
  EXPECT_EQ(loaded.inputs()[0].name, "x" + kBad);
  EXPECT_EQ(loaded.outputs()[0].name, "y" + kBad);
}

// ---- standard streams ----------------------------------------------------------------------------------------------

TEST(Surroundings, StandardErrorMayBeFullClosedOrUnread) {
  const TuneFolder f("stderr");
  const std::string net = f.path("net.onnx").string();
  const std::string lines[] = {
      kTenon + " version -v",
      kTenon + " check " + net + " -v",
      kTenon + " compile " + net + " -vv -o " + f.path("out").string(),
      kTenon + " tune " + net + " --sim --trials 8 --population 24 -o " + f.path("out").string() +
          " --db " + f.path("t.db").string(),
  };
  for (const std::string& line : lines) {
    for (const char* where : {" 2>/dev/full", " 2>&-", " 0<&- 2>&-"}) {
      const Outcome o = shell(line + where);
      EXPECT_EQ(o.exit_code, 0) << line << where << o.err;
      EXPECT_NE(o.out, "") << line << where;
    }
    const Outcome unread = shell("{ sleep 0.2; " + line + "; echo $? >" + f.path("code").string() +
                                 "; } 2>&1 >/dev/null | true");
    EXPECT_EQ(unread.exit_code, 0);
    for (int i = 0; i < 1000 && read(f.path("code")).empty(); ++i) usleep(10'000);
    EXPECT_EQ(read(f.path("code")), "0\n") << line;
    fs::remove(f.path("code"));
  }
  EXPECT_EQ(shell(kTenon + " explain --te missing.te 2>/dev/full").exit_code, 2);
  // A file that is opened must not become the standard error that was closed.
  const std::string log = f.path("log").string();
  EXPECT_EQ(shell(kTenon + " explain --te missing.te --log-file " + log + " 2>&-").exit_code, 2);
  EXPECT_TRUE(contains(read(log), "error: missing.te")) << read(log);
  EXPECT_FALSE(contains(read(log), "tenon: error")) << read(log);
}

TEST(Surroundings, StandardOutputThatCannotBeWritten) {
  const TuneFolder f("stdout");
  for (const char* where : {" >/dev/full", " >&-"}) {
    const Outcome o = shell(kTenon + " version" + where);
    EXPECT_EQ(o.exit_code, 2) << where;
    EXPECT_TRUE(contains(o.err, "stdout cannot be written")) << o.err;
  }
  const std::string code = f.path("code").string();
  const Outcome unread =
      shell("{ sleep 0.2; " + kTenon + " licenses --full; echo $? >" + code + "; } | true");
  EXPECT_EQ(unread.err, "") << "nobody wants to know";
  EXPECT_EQ(read(code), "141\n");
  // What a run measured is kept, whatever becomes of its stream.
  std::string line;
  for (const std::string& word :
       f.command({"--sim", "--trials", "40", "--round", "4", "--jsonl"})) {
    line += " '" + word + "'";
  }
  const Outcome o = shell(line + " >/dev/full");
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_TRUE(contains(o.err, "stdout cannot be written")) << o.err;
  ASSERT_EQ(f.database()->runs().size(), 1U);
  f.expect_sound_records(f.database()->runs()[0].id, "with a full stdout");
}

// ---- temporary files and old rows ----------------------------------------------------------------------------------

TEST(Surroundings, ATemporaryFolderThatIsMissing) {
  TuneFolder f("no_tmp");
  const std::string net = f.path("net.onnx").string();
  const std::string tmp = f.path("missing").string();
  f.variables["TMPDIR"] = tmp;
  const std::vector<Args> rows = {
      {"run", net},
      {"bench", net, "--duration", "0"},
      {"compare", net, f.path("plain").string(), "--reference", "plain"},
      {"tune", net, "-o", f.path("out").string(), "--db", f.path("t.db").string(), "--trials", "4"},
  };
  for (const Args& row : rows) {
    Args args = row;
    args.insert(args.begin(), kTenon);
    const Outcome o = Running(args, f.path(""), f.variables).wait();
    EXPECT_EQ(o.exit_code, 2) << row[0] << o.err;
    EXPECT_TRUE(contains(o.err, "TMPDIR names '" + tmp + "'")) << row[0] << o.err;
    EXPECT_EQ(o.out, "") << row[0];
  }
  EXPECT_FALSE(fs::exists(f.path("out"))) << "work was done before";
  EXPECT_EQ(shell("TMPDIR=" + tmp + " " + kTenon + " check " + net).exit_code, 0)
      << "needs no temporary folder";
}

TEST(Surroundings, RowsThatAreNoEventsAreLeftOut) {
  const TuneFolder f("bad_rows");
  const Args args = {"--sim", "--trials", "40000", "--round", "4", "--progress", "none"};
  const auto cut_off = f.start(args);
  while (!cut_off->ended() && !fs::exists(f.path("out"))) usleep(20'000);
  cut_off->signal(SIGKILL);
  cut_off->wait();
  const std::string run = f.database()->runs().at(0).id;
  const size_t row = f.database()->events(run).size() + 1;
  const char* kRows[] = {"",
                         "{",
                         "[1]",
                         R"({"event":7})",
                         R"({"event":"pairs"})",
                         R"({"event":"pairs","models":{"net":{"a":1}}})",
                         R"({"event":"layouts","models":[1,2]})",
                         R"({"event":"layouts","models":{"net":[[1]]}})",
                         R"({"x":1})",
                         "\xFF\xFE"};
  for (const char* bad : kRows) f.database()->add_event(run, {1, bad});
  const auto again = f.start(args);
  while (!again->ended() && f.database()->events(run).size() < row + 2 * std::size(kRows)) {
    usleep(50'000);
  }
  again->signal(SIGINT);
  const Outcome o = again->wait();
  EXPECT_EQ(o.exit_code, 130) << o.err;
  for (size_t i = 0; i < std::size(kRows); ++i) {
    const std::string sentence =
        "row " + std::to_string(row + i) + " of the run's events is left out: ";
    EXPECT_TRUE(contains(o.err, sentence)) << kRows[i] << "\n" << o.err;
  }
  EXPECT_EQ(f.database()->runs().size(), 1U) << "it did not go on";
  const Outcome report = tenon({"report", "--db", f.path("t.db").string(), "--md"});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_TRUE(contains(report.out, "it is no event: row " + std::to_string(row))) << report.out;
  EXPECT_EQ(tenon({"db", "show", run, "--db", f.path("t.db").string()}).exit_code, 0);
}

}  // namespace
}  // namespace tenon::testing
