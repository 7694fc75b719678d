// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "backend/backend.h"
#include "support/check.h"

namespace tenon::backend {
namespace {

std::string refusal(const target::Target& t) {
  try {
    backend_for(t);
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

TEST(Backends, EveryTargetHasOne) {
  for (const target::Target& t : target::known_targets()) EXPECT_EQ(refusal(t), "") << t.name;
  for (const target::Target& t : target::gpu_targets()) EXPECT_EQ(refusal(t), "") << t.name;
  EXPECT_EQ(refusal(target::host_target()), "");
  std::set<std::string> names;
  for (const Backend& b : backends()) EXPECT_TRUE(names.insert(b.name).second) << b.name;
}

TEST(Backends, WhatNoneHasIsRefusedInASentence) {
  target::Target t = target::parse_target("aarch64");
  t.name = "card";
  t.arch = target::Arch::kNvptx64;
  t.part = target::Gpu{};
  EXPECT_EQ(refusal(t), "target 'card': backend llvm-cpu makes no code for its architecture");
  t.backend = "nvptx";
  EXPECT_EQ(refusal(t), "target 'card': backend nvptx makes no code for its architecture");
  t.backend = "abacus";
  EXPECT_EQ(refusal(t), "target 'card': there is no backend 'abacus' (known: llvm-cpu, nvptx)");
  EXPECT_THROW(make_compiler(t), UserError);
}

}  // namespace
}  // namespace tenon::backend
