// SPDX-License-Identifier: Apache-2.0
// Tenon as a C++ library: a model file in, a folder with a small fast library out, loaded and run.
//
//   tenon::api::compile("resnet50.onnx", "out", {.dims = {{"batch", 1}}});
//   const auto library = tenon::api::Library::load("out");
//   tenon::api::Session session(library, 2);
//   session.run({image.data()}, {scores.data()});
//
// What a finished library needs is in its own C header (out/NAME.h); this header is for programs that compile
// models themselves, or load any model by its folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tenon::api {

// An Error says in a sentence what went wrong. Every function here throws it and nothing else.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Dense, row-major.
struct Tensor {
  std::string name;
  std::string dtype;           // "f32", "i64", "u8", "bool", "f16", "bf16", ...
  std::vector<int64_t> shape;  // of open dimensions, the largest sizes
  int64_t bytes = 0;
  std::vector<int32_t>
      dims;  // of inputs, by axis: which of Library::dims(), -1: none; empty: all have none
  bool counted = false;  // an output of which a run may give fewer rows: see Session::output_given
  std::map<size_t, std::string>
      computed;  // axes of inputs whose sizes are computed of dimensions: "past + 1"
};

// A dimension whose size is known when the model runs only.
struct Dim {
  std::string name;
  std::vector<int64_t> values;  // that it may have, ascending
};

struct CompileOptions {
  std::string name;                     // of the library; the model's file name by default
  std::string target = "host";          // or a row: "x86-64-v3", "aarch64", "cuda", "cuda sm_90"
  std::map<std::string, int64_t> dims;  // symbolic dimensions by name
  std::map<std::string, std::vector<int64_t>> shapes;  // whole inputs by name
  // Dimensions of several sizes by name, which one library serves: "1..8", "16..512:16", "32|64|128". A batch that nothing is
  // said about has 1..8.
  std::map<std::string, std::string> sizes;
  std::string lock;           // schedules from a lock file
  bool frozen = false;        // every schedule must come from the lock file
  std::string emit = "so,h";  // of so, a, h, o, ll, asm
  int threads = 0;            // to compile with; 0: one per core
  std::function<void(const std::string& phase, size_t done, size_t total)> progress;
  // A sentence for each schedule of the lock file that cannot be used; its task gets the default.
  std::function<void(const std::string&)> warn;
};

// Everything in the model that cannot be compiled, one sentence each; empty: compile will work.
std::vector<std::string> check(const std::string& model, const CompileOptions& options = {});

// Writes the folder, whole or not at all, and returns the files in it.
std::vector<std::string> compile(const std::string& model, const std::string& folder,
                                 const CompileOptions& options = {});

// A StepTime says how long one step of a run takes.
struct StepTime {
  std::string kernel;
  std::string origin;              // of its schedule: "template conv", "tuned"
  std::vector<std::string> nodes;  // of the model
  double seconds = 0;              // the median over the runs
  double flops = 0;
  double bytes = 0;
};

// A compiled model on disk. Cheap to copy; safe to use from several threads.
class Library {
 public:
  static Library load(const std::string& folder);
  const std::string& name() const;
  const std::vector<Tensor>& inputs() const;
  const std::vector<Tensor>& outputs() const;
  const std::vector<Dim>& dims() const;  // open dimensions
  const std::string& manifest() const;   // JSON
  const std::string& folder() const;
  const std::string& target() const;  // that it was compiled for
  bool is_for_gpu() const;            // sessions run on a card

  // Times of the steps in the order of running, by a context of its own. Without inputs it draws random ones. `shapes` are
  // those of the inputs; none: the largest.
  std::vector<StepTime> profile(const std::vector<const void*>& inputs = {}, int threads = 0,
                                int64_t runs = 30,
                                const std::vector<std::vector<int64_t>>& shapes = {}) const;

 private:
  friend class Session;
  struct Impl;
  explicit Library(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

struct SessionOptions {
  int threads = 0;  // 0: one per core
  int device = 0;   // which card, as the CUDA driver counts them, where the library is for GPUs
};

// One context: memory and threads of its own. One per thread, made in the process that uses it: a run while another goes
// on, or in a child of fork(), is an Error.
class Session {
 public:
  explicit Session(const Library& library, int threads = 0);  // 0: one per core
  Session(const Library& library, const SessionOptions& options);
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  int threads() const;

  // For the runs that follow: the open sizes that the shape of an input shows. Allocates nothing; an Error says which
  // shapes the input takes.
  void set_shape(size_t input, const std::vector<int64_t>& shape);
  // The same for all inputs at once; throws, too, where they have different sizes of one dimension.
  void set_shapes(const std::vector<std::vector<int64_t>>& shapes);
  // Tensors as the next run takes and gives them.
  Tensor input(size_t i) const;
  Tensor output(size_t i) const;
  // An output as the last run gave it: with fewer rows than the one above, where it is `counted`.
  Tensor output_given(size_t i) const;

  // One pointer per input and output, each to as many bytes as the tensor has. No memory is allocated; pointers to
  // multiples of 64 bytes are used in place.
  void run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs);

  // Where the library is for GPUs, the same on memory of the card: a device address per tensor, a multiple of 256, outputs
  // apart from inputs, and a CUstream (or cudaStream_t) of the card's primary context, which is the one of the CUDA
  // runtime and PyTorch. Returns at once; outputs are there when the stream has got so far, and a failure of a kernel shows
  // there and in the next run.
  void run_device(const std::vector<uint64_t>& inputs, const std::vector<uint64_t>& outputs,
                  void* stream = nullptr);

 private:
  struct Impl;
  void check_counts(size_t inputs, size_t outputs) const;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon::api
