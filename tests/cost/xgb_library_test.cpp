// SPDX-License-Identifier: Apache-2.0
#include "cost/models/xgb_library.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/check.h"

namespace tenon::cost {
namespace {

namespace fs = std::filesystem;

std::string why_not(const std::vector<std::string>& places) {
  try {
    load_xgb_library(places);
  } catch (const UserError& e) {
    return e.what();
  }
  return "it was loaded";
}

// A folder with files that are no libraries.
class XgbLibraryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / "xgb_library_test";
    fs::create_directories(folder_);
    for (const char* name : {"libxgboost.so.0", "libgomp.so.1"}) {
      std::ofstream(folder_ / name) << "no library";
    }
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string damaged() const { return folder_ / "libxgboost.so.0"; }

  fs::path folder_;
};

TEST_F(XgbLibraryTest, IsLookedForBesideTheProgramFirst) {
  const std::vector<std::string> places = {
      "/opt/tenon/bin/libxgboost.so.0", "/opt/tenon/lib/tenon/libxgboost.so.0", "libxgboost.so.0"};
  EXPECT_EQ(xgb_places("/opt/tenon/bin"), places);
}

TEST_F(XgbLibraryTest, AMissingOneIsASentence) {
  const std::string why = why_not({"/nowhere/libxgboost.so.0"});
  EXPECT_NE(why.find("the cost model xgb needs XGBoost, which cannot be loaded: /nowhere/"),
            std::string::npos)
      << why;
  EXPECT_NE(why.find("--cost-model random"), std::string::npos) << why;
}

TEST_F(XgbLibraryTest, EveryPlaceIsNamed) {
  const std::string why = why_not({damaged(), "/nowhere/libxgboost.so.0"});
  EXPECT_NE(why.find(damaged()), std::string::npos) << why;
  EXPECT_NE(why.find("; /nowhere/libxgboost.so.0"), std::string::npos) << why;
}

TEST_F(XgbLibraryTest, ADamagedOneIsPassedOver) {
  const std::vector<std::string> places = {damaged(), "libxgboost.so.0"};
  EXPECT_NE(load_xgb_library(places).booster_create, nullptr);
}

TEST_F(XgbLibraryTest, AnotherLibraryIsNotTaken) {
  EXPECT_NE(why_not({"libm.so.6"}).find("this XGBoost has no function XGB"), std::string::npos);
}

TEST_F(XgbLibraryTest, IsLoadedOnce) { EXPECT_EQ(&xgb(), &xgb()); }

}  // namespace
}  // namespace tenon::cost
