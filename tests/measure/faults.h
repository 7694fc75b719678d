// SPDX-License-Identifier: Apache-2.0
// What can go wrong with a candidate. The first ones are kernels of faults.c, by number.
#pragma once

namespace tenon::measure {

enum Fault {
  kSpins,
  kCrashes,
  kWritesBehind,
  kWritesFarBefore,
  kReturnsGarbage,
  kReturnsNothing,
  kLeaves,
  kWritesInput,
  kCompilerHangs,
  kCompilerEatsMemory,
  kCompilerCrashes,
  kCompilerBabbles,
  kLibraryIsRubbish,
  kFaults,
  kNoRoomAgain =
      kFaults  // of whole runs: there is room to build a program once, and none to build it again
};
inline constexpr int kFirstFault = 400;

}  // namespace tenon::measure
