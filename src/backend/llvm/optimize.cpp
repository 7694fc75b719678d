// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/optimize.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

namespace tenon::backend::llvm_cpu {
namespace {

void run(llvm::FunctionPassManager passes, llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);

  llvm::ModulePassManager all;
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  all.run(module, modules);
}

auto in_loops() {
  llvm::LoopPassManager passes;
  passes.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::IndVarSimplifyPass());
  return llvm::createFunctionToLoopPassAdaptor(std::move(passes), /*UseMemorySSA=*/true);
}

llvm::InstCombinePass combine() {
  return llvm::InstCombinePass(llvm::InstCombineOptions().setMaxIterations(1));
}

}  // namespace

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(combine());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(in_loops());
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(combine());
  run(std::move(passes), module, machine);
}

void optimize_briefly(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(in_loops());
  passes.addPass(combine());
  run(std::move(passes), module, machine);
}

}  // namespace tenon::backend::llvm_cpu
