# SPDX-License-Identifier: Apache-2.0
# tenon_write_licenses(FILE): a source file with license_rows(), from LICENSE and the packages' copyright files.
function(tenon_write_licenses file)
  # name|license|use|files, the first that exists is taken
  set(rows
      "tenon|Apache-2.0|this program|${CMAKE_SOURCE_DIR}/LICENSE"
      "LLVM|Apache-2.0 WITH LLVM-exception|makes machine code, and links it (lld)|/usr/share/doc/llvm-19-dev/copyright,/usr/share/doc/libllvm19/copyright"
      "Protocol Buffers|BSD-3-Clause|reads ONNX files|/usr/share/doc/libprotobuf-dev/copyright,/usr/share/doc/libprotobuf32/copyright"
      "ONNX|Apache-2.0|the messages of ONNX files|/usr/share/doc/libonnx-dev/copyright,/usr/share/doc/libonnx1/copyright"
      "fmt|MIT|formats text|/usr/share/doc/libfmt-dev/copyright"
      "CLI11|BSD-3-Clause|reads the command line|/usr/share/doc/libcli11-dev/copyright"
      "nlohmann json|MIT|writes and reads JSON|/usr/share/doc/nlohmann-json3-dev/copyright"
      "pybind11|BSD-3-Clause|between Python and C++, in the Python package|/usr/share/doc/pybind11-dev/copyright"
      "zlib|Zlib|packs .npz files|/usr/share/doc/zlib1g-dev/copyright,/usr/share/doc/zlib1g/copyright"
      "Zstandard|BSD-3-Clause|packed records, packed sections of objects|/usr/share/doc/libzstd-dev/copyright,/usr/share/doc/libzstd1/copyright"
      "SQLite|blessing|keeps the records of tuning|/usr/share/doc/libsqlite3-dev/copyright,/usr/share/doc/libsqlite3-0/copyright"
      "jemalloc|BSD-2-Clause|memory for small objects|/usr/share/doc/libjemalloc-dev/copyright,/usr/share/doc/libjemalloc2/copyright"
      "XGBoost|Apache-2.0|a cost model, loaded when asked for|/usr/share/doc/libxgboost0/copyright,/usr/share/doc/libxgboost-dev/copyright"
      "dmlc-core|Apache-2.0|needed by XGBoost|/usr/share/doc/libdmlc0/copyright"
      "GCC runtime|GPL-3.0 WITH GCC-exception-3.1|the C++ library, and threads for XGBoost|/usr/share/doc/libstdc++6/copyright,/usr/share/doc/gcc-12-base/copyright")
  set(body "// SPDX-License-Identifier: Apache-2.0\n// Written by licenses.cmake.\n#include \"tools/tenon/licenses.h\"\n\n")
  string(APPEND body "namespace tenon::tools {\nnamespace {\n\nconstexpr License kLicenses[] = {\n")
  foreach(row IN LISTS rows)
    string(REPLACE "|" ";" parts "${row}")
    list(GET parts 0 name)
    list(GET parts 1 license)
    list(GET parts 2 use)
    list(GET parts 3 candidates)
    string(REPLACE "," ";" candidates "${candidates}")
    set(text "The notice lies with the package that this part comes from.\n")
    foreach(candidate IN LISTS candidates)
      if(EXISTS "${candidate}")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${candidate}")
        file(READ "${candidate}" text)
        break()
      endif()
    endforeach()
    # A literal may have at most 64 KiB with some compilers: pieces are joined by the compiler.
    set(literal "")
    string(LENGTH "${text}" length)
    set(at 0)
    while(at LESS length)
      string(SUBSTRING "${text}" ${at} 8000 piece)
      string(APPEND literal "\n     R\"NOTICE(${piece})NOTICE\"")
      math(EXPR at "${at} + 8000")
    endwhile()
    string(APPEND body "    {\"${name}\", \"${license}\", \"${use}\",${literal}},\n")
  endforeach()
  string(APPEND body "};\n\n}  // namespace\n\nstd::span<const License> license_rows() { return kLicenses; }\n\n")
  string(APPEND body "}  // namespace tenon::tools\n")
  file(CONFIGURE OUTPUT "${file}" CONTENT "@body@" @ONLY)
endfunction()
