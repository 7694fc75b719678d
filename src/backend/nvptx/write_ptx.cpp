// SPDX-License-Identifier: Apache-2.0
#include "backend/nvptx/write_ptx.h"

#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/InitializePasses.h>
#include <llvm/PassRegistry.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Vectorize/LoadStoreVectorizer.h>

#include "support/check.h"

namespace tenon::backend::nvptx {
namespace {

// Up to so many instructions loops count addresses instead of computing them. Larger ones have loops in which the few
// instructions of an address do not count, and it takes longer to choose among theirs than whatever else is done here.
constexpr unsigned kMostToReduce = 600;

// A pass of the target, which has no header.
llvm::Pass* target_pass(const char* name) {
  const llvm::PassInfo* pass =
      llvm::PassRegistry::getPassRegistry()->getPassInfo(llvm::StringRef(name));
  TENON_CHECK(pass != nullptr) << "LLVM has no pass " << name;
  return pass->createPass();
}

bool has_stack(const llvm::Module& module) {
  for (const llvm::Function& f : module) {
    for (const llvm::BasicBlock& block : f) {
      for (const llvm::Instruction& i : block) {
        if (llvm::isa<llvm::AllocaInst>(i)) return true;
      }
    }
  }
  return false;
}

// Addresses that differ by a constant share the rest, and accesses that lie side by side become one.
void add_ir_passes(llvm::legacy::PassManager& passes, const llvm::TargetMachine& machine,
                   const llvm::Module& module) {
  passes.add(llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
  if (has_stack(module)) {
    passes.add(target_pass("nvptx-lower-alloca"));
    passes.add(llvm::createInferAddressSpacesPass());
  }
  passes.add(llvm::createSeparateConstOffsetFromGEPPass());
  passes.add(llvm::createEarlyCSEPass());
  if (module.getInstructionCount() < kMostToReduce)
    passes.add(llvm::createLoopStrengthReducePass());
  passes.add(llvm::createExpandReductionsPass());
  passes.add(llvm::createLoadStoreVectorizerPass());
}

// Registers are ptxas's to give out, and frames its to lay out.
void leave_out(llvm::TargetPassConfig& config) {
  for (char* pass :
       {&llvm::PrologEpilogCodeInserterID, &llvm::MachineLateInstrsCleanupID,
        &llvm::MachineCopyPropagationID, &llvm::TailDuplicateID, &llvm::StackMapLivenessID,
        &llvm::PostRAMachineSinkingID, &llvm::PostRASchedulerID, &llvm::FuncletLayoutID,
        &llvm::PatchableFunctionID, &llvm::ShrinkWrapID}) {
    config.disablePass(pass);
  }
}

}  // namespace

std::string write_ptx(llvm::Module& module, llvm::TargetMachine& machine, Emit kind) {
  TENON_CHECK(kind == Emit::kAssembly) << "ptxas makes objects";
  auto& target = static_cast<llvm::LLVMTargetMachine&>(machine);
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager passes;
  auto* info = new llvm::MachineModuleInfoWrapperPass(&target);
  llvm::TargetPassConfig* config = target.createPassConfig(passes);
  config->setDisableVerify(true);
  leave_out(*config);
  passes.add(config);
  passes.add(info);
  add_ir_passes(passes, target, module);
  config->addCodeGenPrepare();
  config->addISelPrepare();
  config->addInstSelector();
  passes.add(llvm::Pass::createPass(&llvm::FinalizeISelID));
  config->addMachinePasses();
  config->setInitialized();
  const bool failed = target.addAsmPrinter(
      passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile, info->getMMI().getContext());
  TENON_CHECK(!failed) << "LLVM cannot write PTX";
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(module);
  return {text.begin(), text.end()};
}

}  // namespace tenon::backend::nvptx
