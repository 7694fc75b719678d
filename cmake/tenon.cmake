# SPDX-License-Identifier: Apache-2.0
# tenon_module(NAME SOURCES a.cpp ... DEPS ir ... [ALONE]): one folder, one static library tenon_NAME.
#   IN_PARTS: what the wheel's extension links takes single files of it, which a batch would join with the compiler.
# tenon_test(NAME SOURCES a_test.cpp ... DEPS ir ... [LABELS unit]): one gtest binary and one ctest entry.
#   PLAIN: a unit test of a module above `artifact`, or one that takes minutes under sanitizers; ./dev test runs it without
#     them, with --long in both ways. So the modules above `artifact` are built once.
#   STATISTICS: tests of suites whose names end in Statistics draw more seeds; only ./dev test --long runs them.
#   LONG_ARGS --runs=100000 adds the entry NAME_long, which only ./dev test --long runs.
#   COST 300 lets it start before tests of less cost: about its seconds under sanitizers.
# tenon_test_module(NAME ...): a module that tests share.
# tenon_use_torch(TARGET): a program of the build tree finds the plug-in tenon-torch, where that is built.
# tenon_batch(TARGET): the compiler reads several sources at once, where the preset says so.
# tenon_fast_malloc(TARGET ...): these programs take their memory from jemalloc.

find_package(fmt REQUIRED)
find_package(Threads REQUIRED)

add_library(tenon_options INTERFACE)
target_include_directories(tenon_options INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_compile_options(tenon_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Werror)

option(TENON_STATIC_LLVM "Programs that need no library but libc and libm" OFF)
set(TENON_SANITIZE "" CACHE STRING "What -fsanitize= is given, for example address,undefined")
# Those of each access to a member make a build with sanitizers take twice as long; the address sanitizer sees most of
# what they do.
set(TENON_SANITIZE_NOT "" CACHE STRING "What -fno-sanitize= is given, for example null,alignment")
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
  if(TENON_SANITIZE_NOT)
    # Uses of locals after their function ended cost a fourth of the time of tests; --long looks for them.
    target_compile_options(tenon_options INTERFACE -fno-sanitize=${TENON_SANITIZE_NOT}
                                                   -fsanitize-address-use-after-return=never)
  endif()
  target_link_options(tenon_options INTERFACE -fsanitize=${TENON_SANITIZE})
endif()

# A search makes and drops some hundred small objects for every program that it looks at; jemalloc does that in half of
# glibc's time. It lies inside of the programs, so that nobody has to install it. Sanitizers have a malloc of their own.
find_library(TENON_JEMALLOC libjemalloc_pic.a REQUIRED)
function(tenon_fast_malloc)
  if(NOT TENON_SANITIZE)
    foreach(target IN LISTS ARGN)
      target_link_libraries(${target} PRIVATE ${TENON_JEMALLOC})
    endforeach()
  endif()
endfunction()

add_custom_target(unit_tests) # what ./dev test builds with sanitizers
add_custom_target(long_unit_tests) # what it builds besides with --long
# ./dev test runs most unit tests with sanitizers alone, so that they are built once.
option(TENON_UNIT_TESTS_APART "Unit tests that are the same under sanitizers are not part of all" OFF)

# Headers and what is made of their templates cost most of the time of a build; a batch reads them once. The presets lint
# and gcc compile each file alone, which shows what a file forgets to include.
option(TENON_BATCHES "Compile sources in batches" OFF)
function(tenon_batch target)
  if(TENON_BATCHES)
    set_property(GLOBAL APPEND PROPERTY TENON_BATCHED ${target})
  endif()
endfunction()

# For code that is compiled more often than it runs long: commands, and tests, whose time is the modules' time.
# With sanitizers it takes a third of the time to compile. Tests name their lines themselves.
set(TENON_COMPILE_FAST OFF)
if(TENON_BATCHES AND CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(TENON_COMPILE_FAST ON)
endif()
# GoogleTest's headers know whether there are threads by a definition that its users are given.
set(tenon_fast_options -O0 -g0 -fPIC -DGTEST_HAS_PTHREAD=1)
function(tenon_compile_fast target)
  if(TENON_COMPILE_FAST)
    target_compile_options(${target} PRIVATE ${tenon_fast_options})
    set_target_properties(${target} PROPERTIES PRECOMPILE_HEADERS_REUSE_FROM tenon_test_headers)
  endif()
endfunction()

# tenon_headers(NAME FILE): a target whose precompiled headers others take.
function(tenon_headers name file)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/batches/${name}.cpp CONTENT "")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/batches/${name}.cpp)
  target_link_libraries(${name} PRIVATE tenon_options ${tenon_fmt})
  target_precompile_headers(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/${file})
  target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp") # the same bytes in every clone, for ccache
endfunction()
if(TENON_BATCHES)
  tenon_headers(tenon_module_headers precompiled.h)
endif()
if(TENON_COMPILE_FAST)
  tenon_headers(tenon_test_headers precompiled_tests.h)
  target_compile_options(tenon_test_headers PRIVATE ${tenon_fast_options})
  target_link_libraries(tenon_test_headers PRIVATE tenon_space) # for the folder of headers that are made
endif()

# Leaves to a target the sources that are compiled in a way of their own, and gives the others.
function(tenon_take_sources target result)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  set(taken "")
  set(left "")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} NORMALIZE)
    set(own "")
    foreach(property COMPILE_DEFINITIONS COMPILE_OPTIONS OBJECT_DEPENDS)
      get_source_file_property(value ${source} TARGET_DIRECTORY ${target} ${property})
      if(value)
        list(APPEND own ${property})
      endif()
    endforeach()
    if(source MATCHES "\\.cpp$" AND NOT own)
      list(APPEND taken ${source})
    else()
      list(APPEND left ${source})
    endif()
  endforeach()
  set_property(TARGET ${target} PROPERTY SOURCES ${left})
  set(${result} ${taken} PARENT_SCOPE)
endfunction()

# Puts batches in the place of sources, after the last target is declared.
function(tenon_choose_batches)
  get_property(targets GLOBAL PROPERTY TENON_BATCHED)
  set(lines "")
  foreach(target IN LISTS targets)
    tenon_take_sources(${target} sources)
    string(JOIN "\t" line ${target} ${sources})
    string(APPEND lines "${line}\n")
  endforeach()
  file(WRITE ${CMAKE_BINARY_DIR}/batches/targets.txt "${lines}")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/batches.py ${CMAKE_BINARY_DIR}/batches
                  OUTPUT_VARIABLE lines OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" lines "${lines}")
  foreach(line IN LISTS lines)
    string(REPLACE "\t" ";" sources "${line}")
    list(POP_FRONT sources target)
    target_sources(${target} PRIVATE ${sources})
  endforeach()
endfunction()
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL tenon_choose_batches)

function(tenon_use_torch target)
  if(TARGET tenon-torch)
    add_dependencies(${target} tenon-torch)
    set_target_properties(${target} PROPERTIES BUILD_RPATH $<TARGET_FILE_DIR:tenon-torch>)
  endif()
endfunction()

function(tenon_module name)
  cmake_parse_arguments(ARG "ALONE;IN_PARTS" "" "SOURCES;DEPS;LIBS" ${ARGN})
  add_library(tenon_${name} STATIC ${ARG_SOURCES})
  list(TRANSFORM ARG_DEPS PREPEND tenon_)
  target_link_libraries(tenon_${name} PUBLIC tenon_options ${tenon_fmt} ${ARG_DEPS} PRIVATE ${ARG_LIBS})
  if(ARG_IN_PARTS AND TENON_STATIC_LLVM)
    set(ARG_ALONE ON)
  endif()
  if(NOT ARG_ALONE) # each file is a member of the archive, so that a program takes no more than it calls
    tenon_batch(tenon_${name})
    if(TENON_BATCHES)
      set_target_properties(tenon_${name} PROPERTIES PRECOMPILE_HEADERS_REUSE_FROM tenon_module_headers)
    endif()
  endif()
endfunction()

# tenon_test_module(NAME SOURCES a.cpp ... DEPS ir ... [HOT]): what several tests share; "fuzz/compare.h" finds
# tests/fuzz/compare.h. HOT: tests spend much of their time in it, so that it is optimised as modules are.
function(tenon_test_module name)
  cmake_parse_arguments(ARG "HOT" "" "" ${ARGN})
  tenon_module(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(tenon_${name} PUBLIC ${CMAKE_SOURCE_DIR}/tests)
  if(NOT ARG_HOT)
    tenon_compile_fast(tenon_${name})
  endif()
endfunction()

# Walking the stack at each allocation takes half of the time of tests under asan; a report names two callers of the
# allocation instead of thirty, and ASAN_OPTIONS=malloc_context_size=30 of a run by hand names them all.
set(tenon_asan_options malloc_context_size=2:quarantine_size_mb=64)

# One entry for ctest, which leaves results/NAME.xml; tests may take ten minutes, under sanitizers and the long ones an hour.
function(tenon_run name binary labels)
  add_test(NAME ${name} COMMAND ${binary} ${ARGN})
  set(timeout 600)
  if("long" IN_LIST labels OR TENON_SANITIZE)
    set(timeout 3600)
  endif()
  # Libraries that would have a thread on each core leave the cores to the tests beside them.
  set_tests_properties(
    ${name} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} ENVIRONMENT
                       "GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/results/${name}.xml;OMP_WAIT_POLICY=passive;OMP_NUM_THREADS=1;ASAN_OPTIONS=${tenon_asan_options}")
endfunction()

function(tenon_test name)
  cmake_parse_arguments(ARG "PLAIN;STATISTICS" "COST" "SOURCES;DEPS;LIBS;LABELS;ARGS;LONG_ARGS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name}_test ${ARG_SOURCES})
  list(TRANSFORM ARG_DEPS PREPEND tenon_)
  target_link_libraries(${name}_test PRIVATE ${ARG_DEPS} ${ARG_LIBS} GTest::gtest GTest::gtest_main)
  target_include_directories(${name}_test PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  tenon_batch(${name}_test)
  tenon_compile_fast(${name}_test)
  if(ARG_PLAIN)
    set(ARG_LABELS unit-plain)
  elseif(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(ARG_STATISTICS)
    tenon_run(${name}_statistics ${name}_test long --gtest_filter=*Statistics.*)
    list(APPEND ARG_ARGS --gtest_filter=-*Statistics.*)
  endif()
  tenon_run(${name} ${name}_test "${ARG_LABELS}" ${ARG_ARGS})
  if(ARG_COST)
    set_tests_properties(${name} PROPERTIES COST ${ARG_COST})
  endif()
  if(ARG_LONG_ARGS)
    tenon_run(${name}_long ${name}_test long ${ARG_LONG_ARGS})
  endif()
  if("unit" IN_LIST ARG_LABELS)
    add_dependencies(unit_tests ${name}_test)
  elseif(ARG_PLAIN)
    add_dependencies(long_unit_tests ${name}_test)
  endif()
  if("unit" IN_LIST ARG_LABELS AND TENON_UNIT_TESTS_APART)
    set_target_properties(${name}_test PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()
