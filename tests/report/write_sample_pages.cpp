// SPDX-License-Identifier: Apache-2.0
// write_sample_pages FOLDER: a page of each kind of run that sample_run.h makes up, and one of a network.
#include <cstdio>
#include <fstream>

#include "report/network/network_html.h"
#include "report/run/html.h"
#include "report/run/markdown.h"
#include "report/sample_network.h"
#include "report/sample_run.h"

int main(int argc, char** argv) {
  using namespace tenon::report;
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_sample_pages FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  SampleDatabase db;
  for (const Kind kind : kKinds) {
    RunStory story = read_story(*db, add_sample_run(*db, kind));
    if (kind == Kind::kWhole) story.models[0].picture = sample_network(60);
    std::ofstream(folder / (std::string(name_of(kind)) + ".html")) << to_html(story);
    std::ofstream(folder / (std::string(name_of(kind)) + ".md")) << to_markdown(story);
  }
  std::ofstream(folder / "network.html") << network_page(sample_network(150));
  return 0;
}
