// SPDX-License-Identifier: Apache-2.0
#include "zoo/zoo.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "files/file.h"
#include "files/folder.h"
#include "tools/tenon/command.h"
#include "tools/tenon/json.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

struct ZooOptions {
  std::vector<std::string> names;
  std::string output;
  zoo::Options model;
};

std::string list_text() {
  std::string text =
      fmt::format("{:<16} {:>12}  {:>6}  {}\n", "name", "parameters", "opset", "what");
  for (const zoo::Architecture& a : zoo::architectures()) {
    text +=
        fmt::format("{:<16} {:>12}  {:>6}  {}\n", a.name, grouped(a.parameters), a.opset, a.what);
  }
  return text;
}

Json sizes_json(const zoo::Sizes& sizes) {
  if (sizes.usual == 0) {
    return nullptr;
  }
  return {
      {"default", sizes.usual}, {"step", sizes.step}, {"min", sizes.least}, {"max", sizes.most}};
}

Json list_json() {
  Json models = Json::array();
  for (const zoo::Architecture& a : zoo::architectures()) {
    models.push_back({{"name", a.name},
                      {"what", a.what},
                      {"parameters", a.parameters},
                      {"opset", a.opset},
                      {"image", sizes_json(a.image)},
                      {"tokens", sizes_json(a.tokens)}});
  }
  return {{"schema", "tenon.zoo/1"}, {"models", models}};
}

// Several models, or a folder, or a name that ends as folders do: each model gets its own file there.
std::string file_of(const ZooOptions& options, const std::string& name) {
  if (options.output.empty()) {
    return name + ".onnx";
  }
  const bool folder = options.names.size() > 1 || options.output.ends_with("/") ||
                      std::filesystem::is_directory(options.output);
  if (!folder || options.output == "-") {
    return options.output;
  }
  files::make_folder(options.output);
  return (std::filesystem::path(options.output) / (name + ".onnx")).string();
}

int write_models(const ZooOptions& options, const Console& console) {
  if (options.output == "-" && options.names.size() > 1) {
    throw UserError("only one model can be written to stdout");
  }
  Json models = Json::array();
  std::string text;
  for (const std::string& name : options.names) {
    const zoo::Architecture& architecture = zoo::find(name);
    const std::string bytes = zoo::model_bytes(architecture, options.model);
    const std::string file = file_of(options, name);
    files::write_file(file, bytes);
    models.push_back({{"name", name},
                      {"file", file},
                      {"bytes", bytes.size()},
                      {"parameters", architecture.parameters},
                      {"opset", architecture.opset},
                      {"seed", options.model.seed}});
    text += fmt::format("{}  {:.1f} MB  {} parameters  opset {}  seed {}\n", file,
                        static_cast<double>(bytes.size()) * 1e-6, grouped(architecture.parameters),
                        architecture.opset, options.model.seed);
  }
  if (options.output != "-") {
    console.answer(console.json() ? to_text(Json{{"schema", "tenon.zoo/1"}, {"written", models}})
                                  : text);
  }
  return kExitOk;
}

}  // namespace

Run add_zoo(CLI::App& command, Console& console) {
  const auto options = std::make_shared<ZooOptions>();
  command.require_subcommand(1);
  CLI::App* list = command.add_subcommand("ls", "List the architectures");
  CLI::App* write = command.add_subcommand("write", "Write models as ONNX files");
  std::vector<std::string> names;
  for (const zoo::Architecture& a : zoo::architectures()) {
    names.emplace_back(a.name);
  }
  write->add_option("name", options->names, "Architectures; tenon zoo ls lists them")
      ->required()
      ->type_name(fmt::format("NAME:{{{}}}", fmt::join(names, ",")));
  write
      ->add_option("-o,--output", options->output,
                   "File or folder ('-': stdout; default: NAME.onnx)")
      ->type_name("PATH");
  write->add_option("--batch", options->model.batch, "Images or sequences at once")
      ->type_name("N")
      ->default_str("1");
  write->add_option("--image", options->model.image, "Height and width of images")->type_name("N");
  write->add_option("--tokens", options->model.tokens, "Length of sequences")->type_name("N");
  write->add_option("--seed", options->model.seed, "Of the weights")
      ->type_name("N")
      ->default_str("1");
  return [list, options, &console] {
    if (list->parsed()) {
      console.answer(console.json() ? to_text(list_json()) : list_text());
      return static_cast<int>(kExitOk);
    }
    return write_models(*options, console);
  };
}

}  // namespace tenon::tools
