// SPDX-License-Identifier: Apache-2.0
#include "bench/compile/phases.h"

#include <unistd.h>

#include <cmath>
#include <ctime>
#include <filesystem>

#include "artifact/write.h"
#include "compile/compile.h"
#include "compile/evaluator.h"
#include "graph/passes.h"
#include "onnx/import.h"

namespace tenon::bench {
namespace {

// Seconds of the processor, all threads: what a phase costs, whatever else the machine does.
double now_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Call begin() at the start of each phase; the phase before ends there.
class Stopwatch {
 public:
  void begin(const std::string& name) {
    end();
    phases_.push_back({name, 0});
    start_s_ = now_s();
    running_ = true;
  }
  void add(const std::string& name, double seconds) { phases_.push_back({name, seconds}); }
  void end() {
    if (running_) phases_.back().seconds = now_s() - start_s_;
    running_ = false;
  }
  std::vector<Phase> take() {
    end();
    return std::move(phases_);
  }

 private:
  std::vector<Phase> phases_;
  double start_s_ = 0;
  bool running_ = false;
};

class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("tenon_compile_bench_" + std::to_string(getpid()))) {}
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

std::vector<Phase> time_phases(const std::string& model) {
  Stopwatch watch;
  watch.begin("import");
  graph::Graph g = onnx::import_bytes(model, "").graph;
  watch.end();
  double last_s = now_s();
  graph::optimize(g, {compile::compiled_evaluator()},
                  {.skip = {}, .verify = false, .watch = [&](auto pass, const auto&, double) {
                     watch.add("optimize." + std::string(pass), now_s() - last_s);
                     last_s = now_s();
                   }});
  compile::Options options;
  options.target = target::host_target();
  options.optimize = false;
  options.threads = 1;
  options.progress = [&](const std::string& phase, size_t, size_t total) {
    if (total == 0 && phase != "optimize") watch.begin(phase);
  };
  const artifact::Program program = compile::compile(std::move(g), "chain", options);
  watch.end();
  const Folder folder;
  artifact::WriteOptions how;
  how.directory = folder.path();
  how.threads = 1;
  watch.begin("write");
  artifact::write(program, how);
  return watch.take();
}

double fitted_exponent(const std::vector<std::pair<double, double>>& points) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const auto& [nodes, seconds] : points) {
    const double x = std::log(nodes), y = std::log(std::max(seconds, 1e-9));
    n += 1;
    sx += x;
    sy += y;
    sxx += x * x;
    sxy += x * y;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

}  // namespace tenon::bench
