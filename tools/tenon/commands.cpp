// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/command.h"

namespace tenon::tools {
namespace {

constexpr CommandRow kCommands[] = {
    {"check", "Say whether a model can be compiled, and list every node that cannot",
     "The whole model is looked at in one pass. Dimensions that the file leaves open are set with "
     "--dims or --shape; --bind makes an input a constant.",
     "tenon check model.onnx\n"
     "tenon check model.onnx --dims batch=1,seq=128\n"
     "tenon check model.onnx --bind sr=16000\n"
     "tenon check model.onnx --json | jq .problems",
     add_check},
    {"compile", "Turn a model into a library with a C header",
     "Writes libNAME.so, NAME.h, the weights, a manifest (NAME.json) and a lock file with the "
     "schedule of each task. "
     "The same model with the same lock file gives the same bytes.",
     "tenon compile model.onnx -o out/\n"
     "tenon compile model.onnx -o out/ --target x86-64-v3 --emit so,a,h,asm\n"
     "tenon compile model.onnx -o again/ --lock out/ --frozen\n"
     "tenon compile model.onnx -o out/ --db tenon.db",
     add_compile},
    {"tune", "Search for the fastest schedules and write the best verified artifact",
     "At every moment the best verified artifact so far lies in the folder. Each measurement is in "
     "the database before "
     "it is shown; the same command again goes on where it was cut off. Ctrl-C finishes the "
     "running batch, twice "
     "stops at once. A task that does not gain keeps its default schedule.",
     "tenon tune model.onnx --budget 5m -o out/\n"
     "tenon tune a.onnx b.onnx --trials 2000 --threads 2 -o out/\n"
     "tenon tune model.onnx --dry-run\n"
     "tenon tune model.onnx --budget 1h --jsonl | jq -c 'select(.event == \"best\")'",
     add_tune},
    {"gather", "Measure many programs of many tasks into the database, to learn from",
     "Half of a task's programs are drawn at random, half come from a short search; failures are "
     "kept too. What is on record counts: the same command again goes on where it was cut off. "
     "Programs of several tasks are in flight at once.",
     "tenon gather --random 100 --budget 1h\n"
     "tenon gather a.onnx b.onnx --programs 200 --db gathered.db\n"
     "tenon gather --programs-from records.jsonl --threads all",
     add_gather},
    {"run", "Run a model or an artifact once",
     "Inputs come from files or are random; results are summed up, and kept with --outputs.",
     "tenon run out/ --inputs x=@image.npy --outputs result.npz\n"
     "tenon run model.onnx --inputs all.npz\n"
     "tenon run out/ --inputs seed:7 --threads 1",
     add_run},
    {"bench", "Measure latency and throughput",
     "Works on a model, an artifact, or with --te on a tensor expression, which is compared with "
     "the reference before "
     "it is timed. Lists of --threads give a row each.",
     "tenon bench out/ --duration 10 --percentiles 50,90,99.9\n"
     "tenon bench model.onnx --threads 1,2 --json\n"
     "tenon bench default/ --against tuned/\n"
     "tenon bench --te examples/matmul_relu.te --template --threads 1",
     add_bench},
    {"compare", "Compare a model's results with a reference",
     "The first name is the reference's side: a model whose meaning counts, or an artifact. The "
     "second, if given, is "
     "what is tested; otherwise the model is compiled now. Exits 4 if an output differs and says "
     "which tolerance would "
     "pass.",
     "tenon compare model.onnx out/ --bisect\n"
     "tenon compare out/ --inputs test_data_set_0 --reference test_data_set_0\n"
     "tenon compare model.onnx --reference \"cmd:python3 run_ort.py model.onnx {inputs} "
     "{outputs}\"",
     add_compare},
    {"verify", "Check that the files of an artifact are as they were written and belong together",
     "Reads every file and compares its SHA-256 with the manifest, the manifest, the weights and "
     "the lock file with what the library itself says. Exits 2 if anything differs. Running a "
     "model checks the library's hash and a checksum of the weights; this is all there is.",
     "tenon verify out/\n"
     "tenon verify out/net.json --json | jq .files",
     add_verify},
    {"profile", "Show time, flops, bytes and share of the roofline by node",
     "Times are medians of each step; the roofline is measured on this machine in the same "
     "seconds.",
     "tenon profile out/ --top 10\n"
     "tenon profile model.onnx --group kernel --sort waste\n"
     "tenon profile out/ --trace run.json",
     add_profile},
    {"explain", "Show the loops, the IR, the code of a task or of a tensor expression",
     "Without --task the tasks of the model are listed. Each section of --show is one stage of the "
     "way from a tensor "
     "expression to machine code. --show layouts is about the whole model: algorithms, layouts and "
     "conversions along its graph.",
     "tenon explain out/\n"
     "tenon explain out/ --show layouts --measure\n"
     "tenon explain out/ --show layouts --html layouts.html\n"
     "tenon explain out/ --task k3_conv --show trace,summary\n"
     "tenon explain --te examples/conv3x3.te --template --show asm",
     add_explain},
    {"report", "Show what a tuning run did: one page, Markdown or JSON",
     "Curves of the best latency over time and trials, every task, where the time went, failures "
     "with a command to see "
     "each again, ranking quality, and the winning loop nests beside the defaults. The page is one "
     "file that needs no "
     "network.",
     "tenon report --html report.html\n"
     "tenon report 3f0c --md\n"
     "tenon report last --json | jq .models",
     add_report},
    {"db", "Look at, move, clean and check the records of tuning",
     "Records are kept by task, target and protocol: only times of one key compare. Exports are "
     "JSON lines; importing them again adds nothing. Every verb takes --db.",
     "tenon db ls\n"
     "tenon db best --lock tuned.lock\n"
     "tenon db why-miss model.onnx --threads 2",
     add_db},
    {"data", "Look at, check, score and encode records as data to learn from",
     "Files are exports of records, packed ones (.zst) too, or databases; several are taken as "
     "one. Times "
     "compare only where target and protocol are the same, so every answer goes by them. check "
     "exits 5 "
     "if a record cannot be learned from. score tells top-1 and top-5 in both ways that are in "
     "use: as the "
     "mean of the ratios and as the ratio of the sums (pooled).",
     "tenon data ls records.jsonl.zst\n"
     "tenon data check records.jsonl.zst\n"
     "tenon data score records.jsonl.zst --cost-model xgb,xgb-rank,tlp\n"
     "tenon data encode records.jsonl.zst --cost-model tlp -o tokens.npz",
     add_data},
    {"model", "Look at, train, score and carry the cost models that tuning begins with",
     "A model is kept beside the database for each target and protocol, trained on all records "
     "there. Every run of tenon tune begins with it and renews it; nothing here has to be done by "
     "hand. Scores are those on tasks that were held out: top-1 and top-5 are the best time over "
     "the best among the model's first one or five, pairs the share that it orders right.",
     "tenon model ls\n"
     "tenon model train --target host\n"
     "tenon model score --json | jq .models\n"
     "tenon model export here.model --target host",
     add_model},
    {"replay", "Run search strategies against recorded measurements, without a device",
     "The programs of a task are those on record, and their times are those that were measured. "
     "The same seeds give the same numbers.",
     "tenon db export records.jsonl\n"
     "tenon replay --data records.jsonl --strategy evolution,random --seeds 10\n"
     "tenon replay --data tenon.db --task 'conv*' --trials 100 --json",
     add_replay},
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
    {"targets", "List the machines that --target can name", "",
     "tenon targets\n"
     "tenon targets --json | jq '.targets[].name'",
     add_targets},
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
    {kExitImport, "the model cannot be imported: no ONNX, damaged, or not supported"},
    {kExitMismatch, "numbers differ from the reference"},
    {kExitNoMeasurement, "nothing valid was measured"},
    {kExitUnreachable, "a device or worker cannot be reached"},
    {kExitFrozen, "--frozen needs a record that is not there"},
    {kExitInterrupted, "interrupted"},
    {kExitReaderLeft, "whoever read standard output left before all was written"},
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
