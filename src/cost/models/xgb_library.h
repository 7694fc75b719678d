// SPDX-License-Identifier: Apache-2.0
// XGBoost's C API, loaded when the first model asks for it. Nothing else in tenon needs XGBoost,
// and it brings libraries of its own; so no program links it.
//
//   xgb().booster_free(handle);                                  // XGBoosterFree(handle)
#pragma once

#include <xgboost/c_api.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tenon::cost {

struct XgbLibrary {
  decltype(&XGBGetLastError) last_error = nullptr;
  decltype(&XGBoosterBoostedRounds) booster_boosted_rounds = nullptr;
  decltype(&XGBoosterBoostOneIter) booster_boost_one_iter = nullptr;
  decltype(&XGBoosterCreate) booster_create = nullptr;
  decltype(&XGBoosterFree) booster_free = nullptr;
  decltype(&XGBoosterLoadModelFromBuffer) booster_load_model_from_buffer = nullptr;
  decltype(&XGBoosterPredictFromDense) booster_predict_from_dense = nullptr;
  decltype(&XGBoosterPredictFromDMatrix) booster_predict_from_dmatrix = nullptr;
  decltype(&XGBoosterSaveModelToBuffer) booster_save_model_to_buffer = nullptr;
  decltype(&XGBoosterSetParam) booster_set_param = nullptr;
  decltype(&XGDMatrixCreateFromMat_omp) dmatrix_create_from_mat_omp = nullptr;
  decltype(&XGDMatrixFree) dmatrix_free = nullptr;
};

// The library of this process, loaded once and never unloaded. Throws UserError where it is
// missing.
const XgbLibrary& xgb();
bool has_xgb();

// Where it is looked for, in this order: beside the program, in ../lib/tenon, where the system has
// it.
std::vector<std::string> xgb_places(const std::filesystem::path& program_folder);

// The first of `places` that can be loaded. A place with a folder may hold there what XGBoost needs
// itself; that is taken before the system's. Throws UserError that says what stood in the way.
XgbLibrary load_xgb_library(std::span<const std::string> places);

}  // namespace tenon::cost
