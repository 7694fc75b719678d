// SPDX-License-Identifier: Apache-2.0
// What a model may ask of the importer. Real models stay far below; a hostile one is refused before it
// costs much time or memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::onnx {

// kPromisedOpset to kNewestOpset are promised; of the older ones, from kOldestOpset on, whatever has a converter.
inline constexpr int64_t kOldestOpset = 1;
inline constexpr int64_t kPromisedOpset = 7;
inline constexpr int64_t kNewestOpset = 24;
// Messages and strings inside one file, and what they may occupy once they are parsed, beyond their bytes.
inline constexpr int64_t kMaxParsedExtra = int64_t{512} << 20;
inline constexpr int64_t kMaxFileBytes = (int64_t{1} << 31) - 1;  // protobuf cannot read more
// Subgraphs in subgraphs, and functions that call functions.
inline constexpr int kMaxDepth = 32;
// Nodes that are converted, counting each turn of an unrolled loop and each call of a function.
inline constexpr int64_t kMaxConversions = 200'000;
// Nodes of the graph that is made: what is unrolled, loops and recurrent layers, is written out as copies.
inline constexpr int64_t kMaxGraphNodes = 500'000;
// Turns of one Loop or Scan, and steps of one recurrent layer.
inline constexpr int64_t kMaxTurns = 4096;
// Bytes of constants that conversion makes (folded shapes, ConstantOfShape, ...), all together.
inline constexpr int64_t kMaxMadeConstants = int64_t{512} << 20;

}  // namespace tenon::onnx
