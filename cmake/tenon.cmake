# SPDX-License-Identifier: Apache-2.0
# tenon_module(NAME SOURCES a.cpp ... DEPS ir ...): one folder, one static library tenon_NAME.
# tenon_test(NAME SOURCES a_test.cpp ... DEPS ir ... [LABELS unit]): one gtest binary and one ctest entry.
#   LONG_ARGS --runs=100000 adds the entry NAME_long, which only ./dev test --long runs.
# tenon_batch(TARGET): the compiler reads several sources at once, where the preset says so.

find_package(fmt REQUIRED)
find_package(Threads REQUIRED)

add_library(tenon_options INTERFACE)
target_include_directories(tenon_options INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_compile_options(tenon_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Werror)

option(TENON_STATIC_LLVM "Programs that need no library but libc and libm" OFF)
set(TENON_SANITIZE "" CACHE STRING "What -fsanitize= is given, for example address,undefined")
set(tenon_fmt fmt::fmt)
if(TENON_STATIC_LLVM)
  set(tenon_fmt tenon_static_fmt)
  target_link_options(tenon_options INTERFACE -static-libstdc++ -static-libgcc
                                              -Wl,--gc-sections)
endif()
if(TENON_SANITIZE)
  target_compile_options(tenon_options INTERFACE -fsanitize=${TENON_SANITIZE} -fno-sanitize-recover=all
                                                 -fno-omit-frame-pointer)
  # Generated kernels do not carry the type that clang looks for in front of a called function.
  target_compile_options(tenon_options INTERFACE -fno-sanitize=function)
  target_link_options(tenon_options INTERFACE -fsanitize=${TENON_SANITIZE})
endif()

add_custom_target(unit_tests) # what ./dev test builds again with sanitizers

# Headers cost most of the time of a build without optimisation: in batches it takes a third of it. Other presets
# compile each file alone, which shows what a file forgets to include.
option(TENON_BATCHES "Compile sources in batches" OFF)
define_property(GLOBAL PROPERTY TENON_BATCHED)
function(tenon_batch target)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(LENGTH sources count)
  if(TENON_BATCHES AND count GREATER 1)
    list(TRANSFORM sources PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" REGEX "^[^/]")
    string(JOIN "\t" line ${target} ${sources})
    set_property(GLOBAL APPEND_STRING PROPERTY TENON_BATCHED "${line}\n")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  endif()
endfunction()

# Chooses the batches of all targets, after the last of them is declared.
function(tenon_choose_batches)
  get_property(lines GLOBAL PROPERTY TENON_BATCHED)
  file(WRITE ${CMAKE_BINARY_DIR}/batched.txt "${lines}")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/batches.py ${CMAKE_BINARY_DIR}/batched.txt
                  OUTPUT_FILE ${CMAKE_BINARY_DIR}/batches.txt COMMAND_ERROR_IS_FATAL ANY)
  file(STRINGS ${CMAKE_BINARY_DIR}/batches.txt batches)
  foreach(batch IN LISTS batches)
    string(REPLACE "\t" ";" words "${batch}")
    list(POP_FRONT words target name)
    set_source_files_properties(${words} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${name})
  endforeach()
endfunction()
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL tenon_choose_batches)

function(tenon_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  add_library(tenon_${name} STATIC ${ARG_SOURCES})
  list(TRANSFORM ARG_DEPS PREPEND tenon_)
  target_link_libraries(tenon_${name} PUBLIC tenon_options ${tenon_fmt} ${ARG_DEPS} PRIVATE ${ARG_LIBS})
  tenon_batch(tenon_${name})
endfunction()

# One entry for ctest, which leaves results/NAME.xml; unit tests may take ten minutes, long ones an hour.
function(tenon_run name binary labels)
  add_test(NAME ${name} COMMAND ${binary} ${ARGN})
  set(timeout 600)
  if("long" IN_LIST labels)
    set(timeout 3600)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} ENVIRONMENT
                       "GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/results/${name}.xml")
endfunction()

function(tenon_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS;LABELS;ARGS;LONG_ARGS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name}_test ${ARG_SOURCES})
  list(TRANSFORM ARG_DEPS PREPEND tenon_)
  target_link_libraries(${name}_test PRIVATE ${ARG_DEPS} ${ARG_LIBS} GTest::gtest GTest::gtest_main)
  target_include_directories(${name}_test PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  tenon_batch(${name}_test)
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  tenon_run(${name} ${name}_test "${ARG_LABELS}" ${ARG_ARGS})
  if(ARG_LONG_ARGS)
    tenon_run(${name}_long ${name}_test long ${ARG_LONG_ARGS})
  endif()
  if("unit" IN_LIST ARG_LABELS)
    add_dependencies(unit_tests ${name}_test)
  endif()
endfunction()
