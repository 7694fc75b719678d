// SPDX-License-Identifier: Apache-2.0
// The builder's side of building: a request to compile a trace, and the loop of tenon-build.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/wire.h"
#include "task/task.h"

namespace tenon::measure {

// Programs of one task, which are built together; each has an answer of its own.
Message build_request(const task::Task& t, std::span<const schedule::Trace> traces);

// The answers to a request, in order, as one message, and back; nothing: it is none.
Message join(const std::vector<Message>& answers);
std::optional<std::vector<Message>> split(const Message& joined);

// What answers begin with: kBuilt (then the library, workspace bytes, parameters), otherwise one more string, why.
inline constexpr const char* kBuilt = "built";
inline constexpr const char* kRefused = "refused";
inline constexpr const char* kFailed = "failed";
inline constexpr const char* kUnable = "unable";  // the machine's fault: no room, no folder

// A program asked for more memory than the limit: what tenon-build leaves with.
inline constexpr int kOutOfMemory = 12;
inline constexpr const char* kOutOfMemoryText = "out of memory";

// main() of tenon-build: [1] a folder for files of a moment, removed when the other end goes; [2] limit of
// memory in bytes, 0: none. For tests, `intercept` may answer, or do, something else, and `alter` may change an answer;
// both see requests of one program.
int serve_builds(int argc, char** argv,
                 const std::function<std::optional<Message>(const Message&)>& intercept = {},
                 const std::function<void(const Message&, Message&)>& alter = {});

}  // namespace tenon::measure
