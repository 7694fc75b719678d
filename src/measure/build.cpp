// SPDX-License-Identifier: Apache-2.0
#include "measure/build.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <new>
#include <sstream>
#include <stdexcept>

#include "backend/backend.h"
#include "lower/lower.h"
#include "support/check.h"
#include "support/private_folder.h"
#include "task/serve.h"
#include "te/text.h"

namespace tenon::measure {
namespace {

// Nothing is wrong with the program: files of a moment cannot be written.
class Unable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

constexpr const char* kHidden = "kernel";

// Inputs that are stored inside another have no parameter of their own.
std::vector<Param> params_of(const schedule::State& s, const ir::Function& f) {
  std::vector<Param> params;
  for (const ir::Buffer& b : f.params) {
    int64_t bytes = b.dtype().bytes();
    for (const int64_t e : b.shape()) bytes *= e;
    params.push_back({'o', ir::to_string(b.dtype()), bytes});
  }
  size_t at = 0;
  for (size_t i = 0; i < s.dag().inputs.size(); ++i) {
    const schedule::Stage& st = s.stage(static_cast<schedule::StageId>(i));
    if (st.stored_in < 0) params[at++].role = st.constant ? 'c' : 'i';
  }
  TENON_CHECK(at == f.num_inputs);
  return params;
}

class Builder {
 public:
  explicit Builder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  Message answer(const Message& request) {
    try {
      TENON_CHECK(request.size() == 6) << "a request of " << request.size() << " parts";
      take_task(request);
      return build(task::serve_json(task_, request[5]));
    } catch (const Unable& e) {
      return {kUnable, e.what()};
    } catch (const std::exception& e) {
      return {kFailed, e.what()};
    }
  }

 private:
  // Candidates of one task come in a row.
  void take_task(const Message& request) {
    const std::string text = request[1] + request[2] + request[3] + request[4];
    if (text == task_text_) return;
    auto target = std::make_shared<const target::Target>(target::target_from_text(request[3]));
    auto dag = std::make_shared<const te::ComputeDag>(te::parse(request[1]));
    auto edges = task::parse_edges(request[2], *dag);
    const std::string asked = request[4];  // the others are the trace's to choose
    std::erase_if(edges, [&](const auto& e) {
      return asked.find("\n" + e.first + "\n") == std::string::npos;
    });
    task_ = task::make_task(std::move(dag), std::move(edges), target);
    compiler_ = backend::make_compiler(*target);
    task_text_ = text;
  }

  Message build(const task::Served& program) {
    if (!program) return {kRefused, program.why};
    ir::Function f = lower::lower(program->state, program->bounds);
    f.name = kHidden;
    const backend::Code object = compiler_->emit(f, backend::Emit::kObject);
    Message m = {kBuilt, link(object.bytes), std::to_string(object.workspace_bytes)};
    for (const Param& p : params_of(program->state, f)) m.push_back(measure::to_text(p));
    return m;
  }

  // Mistakes of a linker are InternalErrors; what it says to users is about files.
  std::string link(const std::string& object) {
    try {
      return compiler_->link(object, kHidden, kEntry, folder_);
    } catch (const UserError& e) {
      throw Unable(e.what());
    }
  }

  std::filesystem::path folder_;
  std::string task_text_;
  task::Task task_;
  std::unique_ptr<backend::Compiler> compiler_;
};

[[noreturn]] void no_memory() {
  const std::string text = std::string(kOutOfMemoryText) + "\n";
  [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
  _exit(kOutOfMemory);
}

// Sanitizers map more than any limit.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimited = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kLimited = false;
#else
constexpr bool kLimited = true;
#endif
#else
constexpr bool kLimited = true;
#endif

void set_limit(int resource, rlim_t value) {
  const rlimit limit = {value, value};
  setrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
}

}  // namespace

Message build_request(const task::Task& t, const schedule::Trace& trace) {
  std::string names = "\n";
  for (const auto& [name, l] : t.edges) names += name + "\n";
  return {"build", te::to_text(*t.dag),     task::edges_text(t.edges), target::to_text(*t.target),
          names,   schedule::to_json(trace)};
}

int serve_builds(int argc, char** argv,
                 const std::function<std::optional<Message>(const Message&)>& intercept,
                 const std::function<void(const Message&, Message&)>& alter) {
  if (argc != 3 || !has_channel()) {
    fmt::print(stderr, "tenon-build is a part of tenon that compiles; it is not started by hand\n");
    return 2;
  }
  const std::string folder = argv[1];
  // Whoever made the folder is on its way out when nobody asks any more.
  const auto clean_up = [folder] {
    constexpr int kTries = 400;
    for (int i = 0; i < kTries && !remove_if_abandoned(folder); ++i) usleep(5000);
  };
  exit_when_left(kChannel, clean_up);
  std::set_new_handler(no_memory);
  set_limit(RLIMIT_CORE, 0);
  const auto bytes = std::strtoull(argv[2], nullptr, 10);
  if (kLimited && bytes > 0) set_limit(RLIMIT_AS, bytes);
  Builder builder(folder);
  for (Message request; receive(kChannel, request) == Got::kMessage;) {
    std::optional<Message> answer = intercept ? intercept(request) : std::nullopt;
    if (!answer) answer = builder.answer(request);
    if (alter) alter(request, *answer);
    if (send(kChannel, *answer) != Got::kMessage) break;
  }
  clean_up();
  return 0;
}

}  // namespace tenon::measure
