// SPDX-License-Identifier: Apache-2.0
// What a machine can do, as far as schedules and code generation need to know: what all machines have, and a CPU's or a
// GPU's own part.
//
//   Target t = host_target();            // detected
//   Target t = parse_target("x86-64-v3 cores=4");
//   t.cpu().l2_bytes
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tenon::target {

enum class Arch : uint8_t { kX86_64, kAArch64, kNvptx64 };

// How fast data moves beside arithmetic; measured ones come from timing/calibrate.h, those of known processors from
// processors.cpp.
struct Rates {
  double flops_per_byte = 3.5;         // of one core, while one byte arrives from memory
  double flops_per_cached_byte = 1.0;  // while one byte moves in or out of its second-level cache
  double bandwidth_per_core = 0.36;    // what each further core adds to the first one's from memory
  int bandwidth_cores = 8;             // more cores than these add nothing

  bool operator==(const Rates&) const = default;
};

struct Cpu {
  std::string processor;  // for LLVM: "x86-64-v3", "generic"
  std::string features;   // for LLVM: "+avx2,+fma"
  int vector_bytes = 16;  // widest vector register that is worth using
  int vector_registers = 16;
  int datapath_bytes =
      16;  // what one arithmetic unit takes at once; a wider vector costs as several
  bool has_fma = false;
  int cores = 1;  // physical, usable by this process
  int64_t l1d_bytes = 32 << 10;
  int64_t l2_bytes = 512 << 10;
  int64_t l3_bytes = 0;  // 0: none known
  int64_t line_bytes = 64;
  // Addresses a multiple of this apart fall into one set of the first-level cache.
  int64_t alias_bytes = 4096;
  int64_t row_bytes = 256 << 10;   // of a row that one core reads again and again
  int64_t image_bytes = 64 << 10;  // of an image that one core copies and reads at once
  Rates rates = {};
  // Less work than this is not worth another core; more pieces than this are not worth their number.
  int64_t parallel_iterations = 4096;
  int64_t parallel_vectors = 256;
  int64_t pieces_per_core = 16;

  int lanes(int64_t element_bytes) const { return static_cast<int>(vector_bytes / element_bytes); }
  // What all cores together read from memory, against one core.
  double memory_share() const {
    return 1 + rates.bandwidth_per_core * (std::min(cores, rates.bandwidth_cores) - 1);
  }
};

struct Gpu {
  std::string processor;  // for LLVM: "sm_90"
  int multiprocessors = 0;
  int warp_threads = 32;
  int threads_per_block = 1024;  // at most
  int threads_per_multiprocessor = 2048;
  int registers_per_thread = 255;  // 32 bits each, at most
  int registers_per_multiprocessor = 65536;
  int64_t shared_bytes_per_block = 48 << 10;  // at most, when a kernel asks for it
  int64_t shared_bytes_per_multiprocessor = 48 << 10;
  int64_t l2_bytes = 0;
  int64_t line_bytes = 128;
};

// How much a program may ask for, and up to where fusing pays. A program beyond them is refused before it is compiled.
struct Limits {
  int64_t lanes = 64;               // of a vector, which may take several registers
  int64_t unrolled_loops = 512;     // copies of a body by one stage's own loops
  int64_t unrolled_program = 4096;  // by all loops around it
  int64_t local_bytes = 1 << 20;    // of a stage that is stored inside of another's loops
  int64_t fused_weights_bytes = 512
                                << 10;  // of a product by blocks of rows, which reads them for each
  int64_t fused_row_bytes = 64 << 10;   // of such a row
  int64_t channel_block = 8;            // channels of a pair come in whole blocks of so many
  int64_t fused_attention = 1;  // always; 0: never; else rows of scores of at most so many bytes
};

struct Target {
  std::string name;  // row of targets.cpp or gpu_targets.cpp, "host" or "cuda"
  Arch arch = Arch::kX86_64;
  std::string triple;  // "x86_64-unknown-linux-gnu"
  std::string
      machine;  // the processor as it names itself, "AuthenticAMD 25/17/1", "NVIDIA H200"; rows have none
  std::string backend;  // the row of backend/backends.cpp that makes its code
  std::string device;   // the row of measure/run/devices.cpp that runs it
  std::variant<Cpu, Gpu> part;
  Limits limits = {};

  // Asking for the part that a target does not have is a bug.
  bool is_cpu() const { return std::holds_alternative<Cpu>(part); }
  const Cpu& cpu() const;
  Cpu& cpu();
  const Gpu& gpu() const;
  Gpu& gpu();
  int64_t line_bytes() const { return is_cpu() ? cpu().line_bytes : gpu().line_bytes; }
  // Names what matters for measured times; the same machine gives the same text.
  std::string fingerprint() const;
};

// Named rows: "x86-64" (SSE2), "x86-64-v2" (SSE4.2), "x86-64-v3" (AVX2, FMA), "x86-64-v4" (AVX-512),
// "x86-64-v4-vnni" (with integer dot products), "x86-64-v4-bf16" (with those of bfloat16 too), "aarch64" (NEON),
// "aarch64-dotprod".
const std::vector<Target>& known_targets();
// GPUs by name: "cuda sm_80", "cuda sm_86", "cuda sm_89", "cuda sm_90", "cuda simt".
const std::vector<Target>& gpu_targets();
Target host_target();
// The rates of a processor that names itself so ("AuthenticAMD 25/17/1"), if there is a row for it.
std::optional<Rates> known_rates(const std::string& machine);
// A guess for any other processor follows from the width of its arithmetic units: wider ones wait longer for the same bytes.
Rates guessed_rates(int datapath_bytes);
// "cuda": the first GPU that the driver shows, with the numbers that it gives. Throws UserError where there is no driver,
// or no card that code can be made for.
Target card_target();
// "NAME [key=value ...]" with keys cores, l1d, l2, l3, vector_bytes; sizes may end in K or M; "host", or
// "native", and "cuda" are detected, and GPUs have no keys. Throws UserError.
Target parse_target(const std::string& text);
// All of a target as text, for another process: a name alone would mean another machine's host. target_from_text
// throws UserError where the text has an architecture or a part that this program does not know.
std::string to_text(const Target& t);
Target target_from_text(const std::string& text);
// True if code built for `t` runs on this machine.
bool runs_here(const Target& t);

// Dot products of bfloat16 by instructions of their own, which round in their own way: the host has them in its target
// only when it is asked to.
bool has_bfloat16(const Cpu& t);
Target with_bfloat16(Target t);  // "host" on a machine that has them; any other target as it is

}  // namespace tenon::target
