# SPDX-License-Identifier: Apache-2.0
# tenon_link_llvm(TARGET component ...): gives one target LLVM's headers (as SYSTEM) and libraries.
# Only src/backend may call it.
#
#   tenon_module(backend SOURCES ... DEPS ir arith target support)
#   tenon_link_llvm(tenon_backend core orcjit passes X86 AArch64)

function(tenon_link_llvm target)
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON) # tests and tools link the target from other folders
  find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19)
  set(TENON_LLVM_VERSION ${LLVM_PACKAGE_VERSION} CACHE INTERNAL "for tenon version")
  target_include_directories(${target} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
  separate_arguments(definitions NATIVE_COMMAND ${LLVM_DEFINITIONS})
  target_compile_definitions(${target} PRIVATE ${definitions})
  if(TENON_STATIC_LLVM)
    # Debian's LLVMSupport names shared libraries; Z3 is only for clang's analyser.
    set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES
                                                 "rt;dl;m;libz.a;libzstd.a;LLVMDemangle")
    llvm_map_components_to_libnames(libraries ${ARGN})
    target_link_libraries(${target} PRIVATE ${libraries})
  else()
    target_link_libraries(${target} PRIVATE LLVM)
  endif()
endfunction()

# tenon_link_lld(TARGET): the linker as a library, for ELF only. After tenon_link_llvm.
function(tenon_link_lld target)
  foreach(name lldELF lldCommon)
    find_library(TENON_${name} ${name} HINTS /usr/lib/llvm-19/lib REQUIRED)
    target_link_libraries(${target} PRIVATE ${TENON_${name}})
  endforeach()
  if(TENON_STATIC_LLVM)
    find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19)
    set_target_properties(LLVMExtensions PROPERTIES INTERFACE_LINK_LIBRARIES LLVMSupport) # not Polly
    llvm_map_components_to_libnames(libraries bitwriter debuginfodwarf lto option)
    target_link_libraries(${target} PRIVATE ${libraries})
  else()
    target_link_libraries(${target} PRIVATE LLVM z zstd)
  endif()
endfunction()
