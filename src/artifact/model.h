// SPDX-License-Identifier: Apache-2.0
// An artifact on disk, loaded and run.
//
//   const Model model = Model::load("out");
//   Session session(model, 2);
//   std::vector<ir::Array> results = session.run(inputs);
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "artifact/manifest_file.h"
#include "artifact/program.h"
#include "ir/interp.h"
#include "tenon/runtime.h"

namespace tenon::artifact {

// A step as its manifest tells it.
struct StepInfo {
  std::string kernel;
  std::string task;
  std::string origin;
  std::vector<std::string> nodes;
  double flops = 0;
  double bytes = 0;
};

// The steps of a manifest that no library vouches for: one for another machine. Throws UserError if it is damaged.
std::vector<StepInfo> steps_of(const ManifestFile& file);

// A loaded library; cheap to copy, safe to use from several threads. The library stays loaded as long as a Model or a
// Session of it lives.
class Model {
 public:
  // A folder, or a manifest in it. What is told about the model is what its library says. Throws UserError if there is no
  // artifact that this machine can load, or its manifest and its library do not belong together.
  static Model load(const std::filesystem::path& path);

  const std::string& name() const;
  const std::filesystem::path& directory() const;
  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;
  const std::vector<StepInfo>& steps() const;
  // Dimensions whose sizes are open: those of inputs say which axes have them. Tensors above have the largest sizes.
  const std::vector<Dim>& dims() const;
  // Inputs with open dimensions of these sizes; those that are not named have the largest. Throws UserError for a name or a
  // size that the model does not have.
  std::vector<TensorInfo> inputs_at(const std::map<std::string, int64_t>& sizes) const;
  const std::string& target() const;    // name of the row of targets
  const std::string& manifest() const;  // JSON, with the list of files
  int64_t weights_bytes() const;
  int64_t workspace_bytes() const;  // of each session
  bool is_for_gpu() const;

 private:
  friend class Session;
  struct Impl;
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// Sets the axes that are computed of open dimensions to what the other axes of these inputs show.
void compute_sizes(std::vector<TensorInfo>& inputs, const std::vector<Dim>& dims);

struct SessionOptions {
  int threads = 0;                         // 0: one per core
  const tenon_runtime* runtime = nullptr;  // the caller's own threads
  int device = 0;                          // which card, where the model is for GPUs
};

// One context of a model, for one thread and the process that made it: a run while another goes on, or in a child of
// fork(), is a UserError.
class Session {
 public:
  explicit Session(const Model& model, const SessionOptions& options = {});  // throws UserError
  Session(const Model& model, int threads) : Session(model, SessionOptions{threads, nullptr}) {}

  const Model& model() const { return model_; }
  int threads() const;

  // For the runs that follow: the open sizes that the shape of an input shows. Throws UserError for one that the input does
  // not take. Allocates nothing.
  void set_shape(size_t input, const std::vector<int64_t>& shape);
  // The same for all inputs. Throws UserError, too, where they have different sizes of one dimension.
  void set_shapes(const std::vector<std::vector<int64_t>>& shapes);
  // Tensors as the next run takes and gives them.
  TensorInfo input(size_t i) const;
  TensorInfo output(size_t i) const;
  // An output as the last run gave it; it has fewer rows than the one above where a loop decided so.
  TensorInfo output_given(size_t i) const;
  // The steps of the next run. Sizes that are put together run them more than once, or those of several sizes.
  std::vector<StepInfo> steps() const;

  // Types and shapes must be those of the model: UserError otherwise. Open sizes are set to those of the inputs.
  // Outputs have the rows that there are.
  std::vector<ir::Array> run(const std::vector<ir::Array>& inputs);
  // Dense row-major memory; multiples of 64 bytes are used in place.
  void run(const void* const* inputs, void* const* outputs);
  // Memory of the card, where the model is for GPUs: a device address per tensor, a multiple of 256, and a CUstream. Returns
  // before the work is done.
  void run_device(const uint64_t* inputs, const uint64_t* outputs, void* stream);

  // Called before (false) and after (true) each step of a run; an empty one removes it.
  using Hook = std::function<void(int step, bool after)>;
  void set_hook(Hook hook);

 private:
  void check_answer(int code) const;  // throws UserError

  struct Counted {
    Hook hook;
    bool parts = false;  // the run may consist of several; otherwise a loop may run a step again
    int first = 0,
        next = 0;  // the number of the first step of the part that runs, and of the next one
  };

  Model model_;
  std::unique_ptr<Counted> hook_;
  std::shared_ptr<void> ctx_;
};

}  // namespace tenon::artifact
