// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/pretend_network.h"

#include <fmt/format.h>

#include "te/text.h"
#include "tools/tenon/tasks.h"

namespace tenon::tools {
namespace {

class PretendNetworkTimer : public measure::NetworkTimer {
 public:
  PretendNetworkTimer(measure::Measurer& device, const Console& console)
      : device_(device), console_(console) {}

  measure::NetworkTimes compare(const std::filesystem::path& a, const std::filesystem::path& b,
                                const measure::NetworkOptions&) override {
    measure::NetworkTimes times;
    times.a_steps_s = steps(a, times.error);
    times.b_steps_s = steps(b, times.error);
    for (const double s : times.a_steps_s) {
      times.a_s += s;
    }
    for (const double s : times.b_steps_s) {
      times.b_s += s;
    }
    times.ratio = times.low = times.high = times.b_s > 0 ? times.a_s / times.b_s : 1;
    return times;
  }

 private:
  std::vector<double> steps(const std::filesystem::path& directory, std::string& error) {
    ModelOptions artifact;
    artifact.path = directory.string();
    const TaskList list = load_tasks(artifact, console_);
    std::map<std::string, double> by_kernel;
    for (const TaskText& t : list.tasks) {
      by_kernel[t.kernel] = task_s(t, list.target, error);
    }
    const artifact::Model model = artifact::Model::load(directory);
    std::vector<double> seconds;
    for (const artifact::StepInfo& step : model.steps()) {
      seconds.push_back(by_kernel[step.kernel]);
    }
    return seconds;
  }

  double task_s(const TaskText& t, const target::Target& target, std::string& error) {
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
  const Console& console_;
};

}  // namespace

std::unique_ptr<measure::NetworkTimer> pretend_network_timer(measure::Measurer& device,
                                                             const Console& console) {
  return std::make_unique<PretendNetworkTimer>(device, console);
}

}  // namespace tenon::tools
