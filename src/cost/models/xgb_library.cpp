// SPDX-License-Identifier: Apache-2.0
#include "cost/models/xgb_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "support/check.h"

namespace tenon::cost {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "libxgboost.so.0";
// Each needs only those before it. The loader finds a library that is loaded already by its name,
// so none of them has to know the folder.
constexpr const char* kCompanions[] = {"libgcc_s.so.1", "libstdc++.so.6", "libgomp.so.1",
                                       "libdmlc.so.0"};

constexpr int kMode = RTLD_NOW | RTLD_LOCAL;

void* open_place(const fs::path& place) {
  for (const char* name : kCompanions) {
    const fs::path companion = place.parent_path() / name;
    std::error_code ignored;
    if (place.has_parent_path() && fs::exists(companion, ignored)) dlopen(companion.c_str(), kMode);
  }
  return dlopen(place.c_str(), kMode);
}

void* open_first(std::span<const std::string> places) {
  std::vector<std::string> why;
  for (const std::string& place : places) {
    if (void* handle = open_place(place); handle != nullptr) return handle;
    why.emplace_back(dlerror());
  }
  throw UserError(fmt::format("the cost model xgb needs XGBoost, which cannot be loaded: {}",
                              fmt::join(why, "; ")),
                  "install it (Debian: libxgboost0), or tune with --cost-model random");
}

template <class Function>
void find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  if (function == nullptr) {
    throw UserError(fmt::format("this XGBoost has no function {}: {}", name, dlerror()),
                    "tenon is made for XGBoost 1.7");
  }
}

}  // namespace

std::vector<std::string> xgb_places(const fs::path& program_folder) {
  return {program_folder / kName,
          (program_folder / ".." / "lib" / "tenon" / kName).lexically_normal(), kName};
}

XgbLibrary load_xgb_library(std::span<const std::string> places) {
  void* handle = open_first(places);
  XgbLibrary x;
  find(handle, "XGBGetLastError", x.last_error);
  find(handle, "XGBoosterBoostedRounds", x.booster_boosted_rounds);
  find(handle, "XGBoosterBoostOneIter", x.booster_boost_one_iter);
  find(handle, "XGBoosterCreate", x.booster_create);
  find(handle, "XGBoosterFree", x.booster_free);
  find(handle, "XGBoosterLoadModelFromBuffer", x.booster_load_model_from_buffer);
  find(handle, "XGBoosterPredictFromDense", x.booster_predict_from_dense);
  find(handle, "XGBoosterPredictFromDMatrix", x.booster_predict_from_dmatrix);
  find(handle, "XGBoosterSaveModelToBuffer", x.booster_save_model_to_buffer);
  find(handle, "XGBoosterSetParam", x.booster_set_param);
  find(handle, "XGDMatrixCreateFromMat_omp", x.dmatrix_create_from_mat_omp);
  find(handle, "XGDMatrixFree", x.dmatrix_free);
  return x;
}

const XgbLibrary& xgb() {
  static const XgbLibrary library = [] {
    std::error_code ignored;
    return load_xgb_library(xgb_places(fs::read_symlink("/proc/self/exe", ignored).parent_path()));
  }();
  return library;
}

bool has_xgb() {
  try {
    xgb();
    return true;
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace tenon::cost
