// SPDX-License-Identifier: Apache-2.0
// Options tell about a model where it is, which sizes it has, and how it is compiled.
//
//   parse_dims({"batch=1..3,seq=128"})      batch is 1, 2 or 3, seq is 128
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "onnx/sizes.h"
#include "plan/layout_choice.h"
#include "plan/plan.h"
#include "tools/tenon/instant_source.h"

namespace tenon::tools {

struct ModelOptions {
  std::string path;
  std::vector<std::string> dims;    // "batch=1", "batch=1..8"
  std::vector<std::string> shapes;  // "x:1x3x224x224" or "x[1..8,3,224,224]"
  onnx::Sizes batch = {1};          // of a batch that nothing is said about
  bool sizes_told = false;  // those of such a batch: a model for several targets tells them once
  std::vector<std::string> binds;  // "name=16000", "name=@file.npy"
  std::string target = "host";
  std::vector<std::string> targets;  // of a library for several: all of them, the best last
  std::string lock;                  // lock file, or the folder of an artifact
  plan::NetworkPlan records;         // used where the lock has no program
  std::string records_from;          // the database that they are of, for people
  std::set<std::string> judged;      // tasks that the run of the records has kept something for
  plan::LayoutTimes layout_times;    // of the same records; not used beside a lock
  bool frozen = false;
  bool no_fuse = false;
  std::string accuracy = "default";
  std::string optimize = "speed";  // or "memory"
  std::string schedules =
      "template";  // or "instant", for tasks without a program of the lock or the records
  InstantSource instant;
  int compile_threads = 0;
};

// What a command works on.
enum class Takes { kModel, kModelOrArtifact };
// The model itself (positional or -m; it is returned), --dims, --shape, --bind.
CLI::Option* add_import_options(CLI::App& command, ModelOptions& options,
                                Takes takes = Takes::kModelOrArtifact);
// --dims, --shape, --bind.
void add_shape_options(CLI::App& command, ModelOptions& options);
// --target, --lock, --no-fuse, --compile-threads.
void add_build_options(CLI::App& command, ModelOptions& options);
// --optimize.
void add_optimize_option(CLI::App& command, ModelOptions& options);
// All of them and --schedules, --frozen.
void add_compile_options(CLI::App& command, ModelOptions& options);

// "a=1,b=2..8" and repeated, a list as "a=1,2,4"; throws UserError.
std::map<std::string, onnx::Sizes> parse_dims(const std::vector<std::string>& texts);
// "a:1x3,b[2..8,4]" and repeated; a name may hold colons.
std::map<std::string, std::vector<onnx::Sizes>> parse_shapes(const std::vector<std::string>& texts);

}  // namespace tenon::tools
