// SPDX-License-Identifier: Apache-2.0
#include "bench/search/quality/lane.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "support/check.h"
#include "support/process.h"

namespace tenon::quality {
namespace {

using Json = nlohmann::json;

struct Pipe {
  int read = -1, write = -1;
};

Pipe make_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    throw UserError(fmt::format("cannot make a pipe: {}", strerror(errno)));
  }
  return {fds[0], fds[1]};
}

}  // namespace

Lane::Lane(std::vector<std::string> argv) : argv_(std::move(argv)) { start(); }

Lane::~Lane() { end(); }

void Lane::start() {
  const Pipe in = make_pipe(), out = make_pipe();
  const Inherited fds[] = {{in.read, STDIN_FILENO}, {out.write, STDOUT_FILENO}};
  const int error = spawn_process(pid_, argv_, fds);
  close(in.read);
  close(out.write);
  to_ = fdopen(in.write, "w");
  from_ = fdopen(out.read, "r");
  if (error == 0) return;
  pid_ = -1;
  end();
  throw UserError(fmt::format("cannot start {}: {}", argv_[0], strerror(error)));
}

void Lane::end() {
  if (to_ != nullptr) fclose(std::exchange(to_, nullptr));
  if (from_ != nullptr) fclose(std::exchange(from_, nullptr));
  if (pid_ > 0) waitpid(std::exchange(pid_, -1), nullptr, 0);
}

Json Lane::ask(const Json& question) {
  if (to_ == nullptr) start();
  const std::string line = question.dump() + "\n";
  char* text = nullptr;
  size_t room = 0;
  const bool answered = fwrite(line.data(), 1, line.size(), to_) == line.size() &&
                        fflush(to_) == 0 && getline(&text, &room, from_) > 0;
  const std::string got = answered ? text : "";
  std::free(text);
  Json answer = Json::parse(got, nullptr, false);
  if (!answer.is_discarded()) return answer;
  end();
  return {{"error", "the worker ended before it answered"}};
}

std::vector<std::vector<int>> split_cores(const std::vector<int>& cores, int lanes) {
  std::vector<int> sorted = cores;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::vector<int>> out(static_cast<size_t>(std::max(1, lanes)));
  const size_t each = sorted.size() / out.size();
  if (each == 0 && !sorted.empty()) {
    throw UserError(fmt::format("{} lanes need as many cores; there are {}", lanes, cores.size()));
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const auto first = sorted.begin() + static_cast<std::ptrdiff_t>(i * each);
    out[i].assign(first, first + static_cast<std::ptrdiff_t>(each));
  }
  return out;
}

}  // namespace tenon::quality
