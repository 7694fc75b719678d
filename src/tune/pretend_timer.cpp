// SPDX-License-Identifier: Apache-2.0
#include "tune/pretend_timer.h"

#include <fmt/format.h>

#include <map>
#include <numeric>

#include "artifact/library.h"
#include "artifact/model.h"
#include "compile/task_list.h"
#include "te/text.h"

namespace tenon::tune {
namespace {

class PretendTimer : public measure::NetworkTimer {
 public:
  explicit PretendTimer(measure::Measurer& device) : device_(device) {}

  measure::NetworkTimes compare(const std::filesystem::path& a, const std::filesystem::path& b,
                                const measure::NetworkOptions&) override {
    measure::NetworkTimes times;
    times.a_steps_s = steps(a, times.error);
    times.b_steps_s = steps(b, times.error);
    times.a_s = std::accumulate(times.a_steps_s.begin(), times.a_steps_s.end(), 0.0);
    times.b_s = std::accumulate(times.b_steps_s.begin(), times.b_steps_s.end(), 0.0);
    times.ratio = times.low = times.high = times.b_s > 0 ? times.a_s / times.b_s : 1;
    return times;
  }

 private:
  std::vector<double> steps(const std::filesystem::path& directory, std::string& error) {
    // Not loaded: the target may be another machine's.
    const artifact::ManifestFile file = artifact::read_artifact(directory);
    const compile::TaskList list = compile::list_tasks(file);
    std::map<std::string, double> by_kernel;
    for (const compile::TaskText& t : list.tasks) {
      by_kernel[t.kernel] = task_s(t, list.target, error);
    }
    std::vector<double> seconds;
    for (const artifact::StepInfo& step : artifact::steps_of(file)) {
      seconds.push_back(by_kernel[step.kernel]);
    }
    return seconds;
  }

  double task_s(const compile::TaskText& t, const target::Target& target, std::string& error) {
    task::Task task = task::make_task(std::make_shared<const te::ComputeDag>(te::parse(t.te)), {},
                                      std::make_shared<const target::Target>(target));
    task.key = t.task;  // with the edges, which do not matter here
    const schedule::State initial(task.dag, task.target);
    const std::vector<schedule::Trace> traces = {schedule::parse_trace(t.trace, initial, t.kernel)};
    const task::Measurement m = device_.finals(task, traces, 0).front();
    if (m.outcome != task::Outcome::kOk) {
      error = fmt::format("{}: {}", t.kernel, m.error);
    }
    return m.median_s;
  }

  measure::Measurer& device_;
};

}  // namespace

std::unique_ptr<measure::NetworkTimer> pretend_timer(measure::Measurer& device) {
  return std::make_unique<PretendTimer>(device);
}

}  // namespace tenon::tune
