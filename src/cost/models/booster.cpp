// SPDX-License-Identifier: Apache-2.0
#include "cost/models/booster.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "cost/models/xgb_library.h"
#include "support/check.h"

namespace tenon::cost {

namespace {

constexpr Parameter kShared[] = {
    {"tree_method", "hist"},
    {"max_bin", "64"},  // columns are logarithms: finer steps cost time and rank no better
    {"base_score", "0"},
    {"objective", "reg:squarederror"},  // the trees only; gradients are ours
    {"disable_default_eval_metric", "1"},
    {"verbosity", "0"},
    {"nthread", "1"},
};

void check(int status) { TENON_CHECK(status == 0) << "xgboost: " << xgb().last_error(); }

}  // namespace

void Matrix::Free::operator()(void* m) const { xgb().dmatrix_free(m); }

Matrix::Matrix(std::span<const float> values, uint32_t width) {
  DMatrixHandle handle = nullptr;
  check(xgb().dmatrix_create_from_mat_omp(values.data(), values.size() / width, width,
                                          std::numeric_limits<float>::quiet_NaN(), &handle, 1));
  handle_.reset(handle);
}

void Booster::Free::operator()(void* b) const { xgb().booster_free(b); }

Booster::Booster(const Growing& growing, const Matrix* data, const std::string& trees)
    : width_(growing.width) {
  DMatrixHandle rows = data == nullptr ? nullptr : data->handle();
  BoosterHandle handle = nullptr;
  check(xgb().booster_create(&rows, data == nullptr ? 0 : 1, &handle));
  handle_.reset(handle);
  set_parameters(growing);
  if (trees.empty()) return;
  int rounds = 0;
  check(xgb().booster_boosted_rounds(handle, &rounds));  // makes it take its parameters, one thread
  if (xgb().booster_load_model_from_buffer(handle, trees.data(), trees.size()) != 0) {
    throw UserError("the cost model is damaged: " + std::string(xgb().last_error()));
  }
  set_parameters(growing);  // saved trees do not know how they were grown
}

void Booster::set_parameters(const Growing& growing) {
  const auto set = [&](const char* name, const std::string& value) {
    check(xgb().booster_set_param(handle_.get(), name, value.c_str()));
  };
  for (const Parameter& p : kShared) set(p.name, p.value);
  for (const Parameter& p : growing.parameters) set(p.name, p.value);
  set("num_feature", std::to_string(growing.width));
  set("seed", std::to_string(growing.seed & 0x7fffffff));
}

void Booster::grow(const Matrix& data, std::span<float> first, std::span<float> second) {
  TENON_CHECK(first.size() == second.size()) << first.size() << " and " << second.size();
  check(xgb().booster_boost_one_iter(handle_.get(), data.handle(), first.data(), second.data(),
                                     first.size()));
}

std::span<const float> Booster::fitted(const Matrix& data) const {
  const bst_ulong* shape = nullptr;
  bst_ulong dims = 0;
  const float* out = nullptr;
  check(xgb().booster_predict_from_dmatrix(handle_.get(), data.handle(),
                                           R"({"type": 1, "training": true,
        "iteration_begin": 0, "iteration_end": 0, "strict_shape": false})",
                                           &shape, &dims, &out));
  return {out, shape[0]};
}

// Results live in memory of the calling thread until its next call.
void Booster::predict(std::span<const float> values, std::span<float> out) const {
  TENON_CHECK(values.size() == out.size() * width_) << "rows of another model";
  const std::string array =
      fmt::format(R"({{"data": [{}, true], "shape": [{}, {}], "typestr": "<f4", "version": 3}})",
                  reinterpret_cast<uintptr_t>(values.data()), out.size(), width_);
  const bst_ulong* shape = nullptr;
  bst_ulong dims = 0;
  const float* scores = nullptr;
  check(xgb().booster_predict_from_dense(handle_.get(), array.c_str(), R"({"type": 1,
        "training": false, "iteration_begin": 0, "iteration_end": 0, "strict_shape": false,
        "cache_id": 0, "missing": NaN})",
                                         nullptr, &shape, &dims, &scores));
  TENON_CHECK(shape[0] == out.size()) << shape[0] << " predictions for " << out.size() << " rows";
  std::copy(scores, scores + out.size(), out.begin());
}

void Booster::settle() const {
  std::vector<float> nothing(width_), worth(1);
  predict(nothing, worth);
}

std::string Booster::trees() const {
  bst_ulong length = 0;
  const char* bytes = nullptr;
  check(xgb().booster_save_model_to_buffer(handle_.get(), R"({"format": "ubj"})", &length, &bytes));
  return std::string(bytes, length);
}

}  // namespace tenon::cost
