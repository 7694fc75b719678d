// SPDX-License-Identifier: Apache-2.0
// How far apart two cores are. Two threads of a program that work on each other's tensors are much slower on cores that
// share no cache, and the host of a virtual machine may move its cores between both states without a word.
//
//   handoff_ns() -> 62     they share their last-level cache
//   handoff_ns() -> 390    they do not
#pragma once

namespace tenon::measure {

constexpr double kApartNs = 180;  // more than any shared cache takes

// A cache line to the second usable core and back, best of a few tries, within a millisecond; 0: not known, because
// there is but one core, or the other one is busy.
double handoff_ns();

}  // namespace tenon::measure
