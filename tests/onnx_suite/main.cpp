// SPDX-License-Identifier: Apache-2.0
// onnx_suite: runs ONNX's backend test suite through the compiler. Exit code 1 if a case is wrong or
// crashes, if fewer cases pass than wanted, or if docs/ops.md is not current.
#include <fstream>
#include <iostream>
#include <iterator>

#include "onnx_suite/ops_page.h"
#include "onnx_suite/suite.h"

namespace {

using namespace tenon::onnx_suite;

struct Page {
  std::string path;
  bool update = false;
};

// Whether the page is as it should be.
bool check(const Page& page, const std::string& text) {
  if (page.update) {
    write_file(page.path, text);
    return true;
  }
  std::ifstream in(page.path);
  const std::string there{std::istreambuf_iterator<char>(in), {}};
  if (there == text) return true;
  std::cout << page.path << " is not current: run onnx_suite --ops " << page.path
            << " --update-ops\n";
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs ONNX's backend test suite through the compiler");
  Options o;
  Page page;
  add_options(app, o);
  app.add_option("--ops", page.path, "Page of operators that must be current");
  app.add_flag("--update-ops", page.update, "Write that page instead of checking it");
  CLI11_PARSE(app, argc, argv);
  const Ran ran = run(o);
  const bool current =
      page.path.empty() || o.list || o.child || check(page, ops_page(ran.cases, ran.outcomes));
  return ran.good && current ? 0 : 1;
}
