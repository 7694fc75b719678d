// SPDX-License-Identifier: Apache-2.0
// A compiled network as a graph: what runs after what, by which algorithm, how each tensor is stored, and where it is
// converted at what cost. Read from the two files that say so, a manifest and a lock file; pure data.
//
//   input -> conv (direct) -> conversion N C H W to N C/16 H W 16c -> conv (winograd4) -> ...
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenon::report {

struct StoredTensor {
  std::string dtype;
  std::vector<int64_t> shape;  // logical
  std::string layout;          // for people: layout::describe
  std::string steps;           // layout::to_string; empty: row-major
  int64_t bytes = 0;           // as stored
};

enum class NodeKind : uint8_t { kInput, kKernel, kConversion };

struct NetworkNode {
  NodeKind kind = NodeKind::kKernel;
  std::string name;  // of the input or the kernel
  std::string task, origin;
  // "winograd4", "direct", and its error and that of direct float32; empty: there is nothing to choose.
  std::string algorithm;
  double error = 0, direct_error = 0;
  std::vector<std::string> model_nodes;  // names in the model
  std::vector<size_t> reads;             // nodes before this one, ascending, each once
  std::vector<StoredTensor> outputs;
  std::vector<std::string> gives;  // outputs of the network that it writes
  std::optional<size_t> step;      // of the program; nothing: an input
  // Of conversions:
  std::string from;         // layout before
  int64_t moved_bytes = 0;  // read and written
  // Of any step in a run of the network; of conversions also by a record of tuning.
  std::optional<double> measured_s;
  bool by_record = false;
};

struct Network {
  std::string name, target;
  // In the order of running; an input stands before its first reader.
  std::vector<NetworkNode> nodes;
  int threads = 0;   // of the run that was measured; 0: none was
  double run_s = 0;  // of the whole, if measured

  bool measured() const { return threads > 0; }
};

// Measured if it was, else an estimate from its bytes; kernels that were not measured have none.
std::optional<double> cost_s(const NetworkNode& n);

struct Conversions {
  size_t count = 0;
  size_t recorded = 0, estimated = 0;  // of them, by where their times are from
  int64_t bytes = 0;
  double seconds = 0;
};
Conversions conversions(const Network& n);

// How many steps each algorithm computes, the most first.
std::vector<std::pair<std::string, size_t>> algorithms_used(const Network& n);

// Layouts of outputs in the order in which they first appear, with how often and how much.
struct LayoutUse {
  std::string layout;
  size_t tensors = 0;
  int64_t bytes = 0;
};
std::vector<LayoutUse> layouts_used(const Network& n);

// NAME.json and NAME.lock of an artifact. Throws UserError if they do not tell enough.
Network parse_network(const std::string& manifest, const std::string& lock);
// Times by step of the program.
void set_times(Network& n, const std::vector<double>& seconds, int threads, double run_s);
// Times of conversions by task, as records of tuning tell them.
void set_recorded(Network& n, const std::map<std::string, double>& seconds);

}  // namespace tenon::report
