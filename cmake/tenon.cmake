# SPDX-License-Identifier: Apache-2.0
# tenon_module(NAME SOURCES a.cpp ... DEPS ir ...): one folder, one static library tenon_NAME.
# tenon_test(NAME SOURCES a_test.cpp ... DEPS ir ... [LABELS unit]): one gtest binary and one ctest entry.

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

function(tenon_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  add_library(tenon_${name} STATIC ${ARG_SOURCES})
  list(TRANSFORM ARG_DEPS PREPEND tenon_)
  target_link_libraries(tenon_${name} PUBLIC tenon_options ${tenon_fmt} ${ARG_DEPS} PRIVATE ${ARG_LIBS})
endfunction()

function(tenon_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS;LABELS;ARGS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name}_test ${ARG_SOURCES})
  list(TRANSFORM ARG_DEPS PREPEND tenon_)
  target_link_libraries(${name}_test PRIVATE ${ARG_DEPS} ${ARG_LIBS} GTest::gtest GTest::gtest_main)
  target_include_directories(${name}_test PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_test(NAME ${name} COMMAND ${name}_test ${ARG_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 600 ENVIRONMENT
                       "GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/results/${name}.xml")
  if("unit" IN_LIST ARG_LABELS)
    add_dependencies(unit_tests ${name}_test)
  endif()
endfunction()
