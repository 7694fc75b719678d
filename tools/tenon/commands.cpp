// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/command.h"

namespace tenon::tools {
namespace {

constexpr CommandRow kCommands[] = {
    {"check", "Say whether a model can be compiled, and list every node that cannot",
     "The whole model is looked at in one pass. Dimensions that the file leaves open are set with "
     "--dims or --shape.",
     "tenon check model.onnx\n"
     "tenon check model.onnx --dims batch=1,seq=128\n"
     "tenon check model.onnx --json | jq .problems",
     add_check},
    {"compile", "Turn a model into a library with a C header",
     "Writes libNAME.so, NAME.h, the weights, a manifest (NAME.json) and a lock file with the "
     "schedule of each task. "
     "The same model with the same lock file gives the same bytes.",
     "tenon compile model.onnx -o out/\n"
     "tenon compile model.onnx -o out/ --target x86-64-v3 --emit so,a,h,asm\n"
     "tenon compile model.onnx -o again/ --lock out/ --frozen",
     add_compile},
    {"explain", "Show the loops, the IR, the code of a scheduled computation",
     "Each section of --show is one stage of the way from a tensor expression to machine code.",
     "tenon explain --te examples/matmul_relu.te --template --show trace,summary\n"
     "tenon explain --te examples/conv3x3.te --template --show asm\n"
     "tenon explain --te a.te --trace a.trace --show pass:vectorize_loops",
     add_explain},
    {"bench", "Measure latency and throughput",
     "A tensor expression (--te) is compared with the reference before it is timed, and the "
     "machine's peak is "
     "measured in the same seconds.",
     "tenon bench --te examples/matmul_relu.te --template --threads 1\n"
     "tenon bench --te - --trace a.trace --json",
     add_bench},
    {"zoo", "List or write well-known architectures with seeded weights",
     "The weights are random but scaled by fan-in, so that values stay in range through the depth. "
     "The same "
     "options give the same bytes.",
     "tenon zoo ls\n"
     "tenon zoo write resnet50\n"
     "tenon zoo write bert_tiny --tokens 64 -o bert.onnx",
     add_zoo},
    {"doctor", "Say what on this machine disturbs measurements",
     "Each line is a fact, with a hint where something can be done about it.",
     "tenon doctor\n"
     "tenon doctor --json",
     add_doctor},
    {"version", "Print the version of tenon and what it knows about this machine", "",
     "tenon version\n"
     "tenon version --json",
     add_version},
    {"licenses", "Print the licences of tenon and of what it contains", "",
     "tenon licenses\n"
     "tenon licenses --full | less",
     add_licenses},
    {"completion", "Print a completion script for a shell",
     "The script is made from the same tree of options that the parser uses.",
     "tenon completion bash > ~/.local/share/bash-completion/completions/tenon\n"
     "tenon completion zsh > ~/.zfunc/_tenon\n"
     "tenon completion fish > ~/.config/fish/completions/tenon.fish",
     add_completion},
    {"help", "Explain a command in full", "",
     "tenon help\n"
     "tenon help bench",
     add_help},
};

constexpr ExitRow kExits[] = {
    {kExitOk, "success"},
    {kExitInternalError, "a fault of tenon; a report is written"},
    {kExitUsage, "a mistake in what was asked: options, settings, files"},
    {kExitImport, "the model cannot be imported"},
    {kExitMismatch, "numbers differ from the reference"},
    {kExitNoMeasurement, "nothing valid was measured"},
    {kExitUnreachable, "a device or worker cannot be reached"},
    {kExitRegression, "slower than allowed"},
    {kExitFrozen, "--frozen needs a record that the lock file does not have"},
    {kExitTimeout, "time ran out before there was a result"},
    {kExitInterrupted, "interrupted"},
};

}  // namespace

std::span<const CommandRow> command_rows() { return kCommands; }
std::span<const ExitRow> exit_rows() { return kExits; }

const CommandRow* find_command(std::string_view name) {
  for (const CommandRow& row : kCommands) {
    if (name == row.name) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace tenon::tools
