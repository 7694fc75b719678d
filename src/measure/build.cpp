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
constexpr size_t kFirstProgram = 5;  // the part of a request; those before it are the task

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

  // The task is the request's; one program of it.
  Message answer(const Message& request, size_t program) {
    try {
      TENON_CHECK(request.size() > program) << "a request of " << request.size() << " parts";
      take_task(request);
      return build(task::serve_json(task_, request[program]));
    } catch (const Unable& e) {
      return {kUnable, e.what()};
    } catch (const std::exception& e) {
      return {kFailed, e.what()};
    }
  }

  // Answers for all programs. Where one of them fails, each is built by itself, so that it fails alone.
  std::vector<Message> answers(const Message& request) {
    if (request.size() > kFirstProgram + 1) {
      try {
        take_task(request);
        return build_together(std::span(request).subspan(kFirstProgram));
      } catch (const std::exception&) {  // it is found below
      }
    }
    std::vector<Message> out;
    for (size_t i = kFirstProgram; i < request.size(); ++i) out.push_back(answer(request, i));
    return out;
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
    return describe(*program.program, f, compiler_->emit(f, backend::Emit::kObject));
  }

  // Programs that are refused do not take part.
  std::vector<Message> build_together(std::span<const std::string> programs) {
    std::vector<Message> out(programs.size());
    std::vector<task::Served> served;
    std::vector<ir::Function> functions;
    for (size_t i = 0; i < programs.size(); ++i) {
      served.push_back(task::serve_json(task_, programs[i]));
      if (!served[i]) {
        out[i] = {kRefused, served[i].why};
        continue;
      }
      functions.push_back(lower::lower(served[i]->state, served[i]->bounds));
      functions.back().name = fmt::format("{}{}", kHidden, i);
    }
    const std::vector<backend::Code> objects = compiler_->emit_objects(functions);
    for (size_t i = 0, at = 0; i < programs.size(); ++i) {
      if (!served[i]) continue;
      out[i] = describe(*served[i].program, functions[at], objects[at]);
      ++at;
    }
    return out;
  }

  Message describe(const task::Program& program, const ir::Function& f,
                   const backend::Code& object) {
    Message m = {kBuilt, link(object.bytes, f.name), std::to_string(object.workspace_bytes)};
    for (const Param& p : params_of(program.state, f)) m.push_back(measure::to_text(p));
    return m;
  }

  // Mistakes of a linker are InternalErrors; what it says to users is about files.
  std::string link(const std::string& object, const std::string& name) {
    try {
      return compiler_->link(object, name, kEntry, folder_);
    } catch (const UserError& e) {
      throw Unable(e.what());
    }
  }

  std::filesystem::path folder_;
  std::string task_text_;
  task::Task task_;
  std::unique_ptr<backend::Compiler> compiler_;
};

using Intercept = std::function<std::optional<Message>(const Message&)>;
using Alter = std::function<void(const Message&, Message&)>;

std::vector<Message> one_by_one(Builder& builder, const Message& request,
                                const Intercept& intercept, const Alter& alter) {
  std::vector<Message> out;
  for (size_t i = kFirstProgram; i < request.size(); ++i) {
    Message one(request.begin(), request.begin() + kFirstProgram);
    one.push_back(request[i]);
    std::optional<Message> answer = intercept ? intercept(one) : std::nullopt;
    out.push_back(answer ? *std::move(answer) : builder.answer(one, kFirstProgram));
    if (alter) alter(one, out.back());
  }
  return out;
}

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

Message build_request(const task::Task& t, std::span<const schedule::Trace> traces) {
  std::string names = "\n";
  for (const auto& [name, l] : t.edges) names += name + "\n";
  Message m = {"build", te::to_text(*t.dag), task::edges_text(t.edges), target::to_text(*t.target),
               names};
  for (const schedule::Trace& trace : traces) m.push_back(schedule::to_json(trace));
  return m;
}

// Each answer comes behind the number of its parts.
Message join(const std::vector<Message>& answers) {
  Message out;
  for (const Message& m : answers) {
    out.push_back(std::to_string(m.size()));
    out.insert(out.end(), m.begin(), m.end());
  }
  return out;
}

std::optional<std::vector<Message>> split(const Message& joined) {
  std::vector<Message> out;
  for (size_t at = 0; at < joined.size();) {
    const size_t parts = std::strtoull(joined[at].c_str(), nullptr, 10);
    if (parts == 0 || parts > joined.size() - at - 1) return std::nullopt;
    const auto first = joined.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    out.emplace_back(first, first + static_cast<std::ptrdiff_t>(parts));
    at += parts + 1;
  }
  return out;
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
    const std::vector<Message> answers = intercept || alter
                                             ? one_by_one(builder, request, intercept, alter)
                                             : builder.answers(request);
    if (send(kChannel, join(answers)) != Got::kMessage) break;
  }
  clean_up();
  return 0;
}

}  // namespace tenon::measure
