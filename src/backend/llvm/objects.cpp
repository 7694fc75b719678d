// SPDX-License-Identifier: Apache-2.0
#include "backend/objects.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/ObjCopy/ConfigManager.h>
#include <llvm/ObjCopy/ObjCopy.h>
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/SourceMgr.h>

#include "backend/llvm/machine.h"
#include "support/check.h"

namespace tenon::backend {
namespace {

template <class T>
T unwrap(llvm::Expected<T> value) {
  TENON_CHECK(static_cast<bool>(value)) << llvm::toString(value.takeError());
  return std::move(*value);
}

std::unique_ptr<llvm::object::ObjectFile> parse_object(std::string_view bytes) {
  return unwrap(llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(bytes.data(), bytes.size()), "object")));
}

}  // namespace

std::string compile_ir(const std::string& text, const target::Target& t) {
  const auto machine = llvm_cpu::make_machine(t);
  llvm::LLVMContext context;
  llvm::SMDiagnostic why;
  const auto module = llvm::parseAssemblyString(text, why, context);
  TENON_CHECK(module != nullptr) << why.getLineNo() << ": " << why.getMessage().str();
  module->setTargetTriple(machine->getTargetTriple().str());
  module->setDataLayout(machine->createDataLayout());
  module->setPICLevel(llvm::PICLevel::BigPIC);
  return llvm_cpu::generate(*module, *machine, Emit::kObject);
}

std::vector<std::string> defined_symbols(std::string_view object) {
  std::vector<std::string> names;
  const auto file = parse_object(object);
  for (const llvm::object::SymbolRef& symbol : file->symbols()) {
    const uint32_t flags = unwrap(symbol.getFlags());
    if ((flags & llvm::object::SymbolRef::SF_Global) != 0 &&
        (flags & llvm::object::SymbolRef::SF_Undefined) == 0) {
      names.push_back(unwrap(symbol.getName()).str());
    }
  }
  return names;
}

std::string rename_symbols(std::string_view object,
                           const std::map<std::string, std::string>& names) {
  llvm::objcopy::ConfigManager config;
  for (const auto& [from, to] : names) {
    config.Common.SymbolsToRename[from] = to;
  }
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  const auto file = parse_object(object);
  llvm::Error failure = llvm::objcopy::executeObjcopyOnBinary(config, *file, out);
  TENON_CHECK(!failure) << llvm::toString(std::move(failure));
  return {bytes.begin(), bytes.end()};
}

std::string make_archive(const std::vector<Member>& members) {
  std::vector<llvm::NewArchiveMember> entries;
  entries.reserve(members.size());
  for (const Member& m : members) {
    entries.emplace_back(llvm::MemoryBufferRef(m.bytes, m.name));
  }
  std::string bytes;
  llvm::raw_string_ostream out(bytes);
  llvm::Error failure = llvm::writeArchiveToStream(
      out, entries, llvm::SymtabWritingMode::NormalSymtab, llvm::object::Archive::K_GNU,
      /*Deterministic=*/true, /*Thin=*/false);
  TENON_CHECK(!failure) << llvm::toString(std::move(failure));
  return bytes;
}

std::vector<bool> has_features(const target::Target& t, const std::vector<std::string>& names) {
  const auto machine = llvm_cpu::make_machine(t);
  std::vector<bool> has;
  has.reserve(names.size());
  for (const std::string& name : names) {
    has.push_back(machine->getMCSubtargetInfo()->checkFeatures("+" + name));
  }
  return has;
}

}  // namespace tenon::backend
