# SPDX-License-Identifier: Apache-2.0
# tenon_link_onnx(TARGET): gives one target the messages of ONNX files: protobuf and libonnx-dev's compiled messages, or,
# where binaries must carry everything inside, the messages compiled here from the schema that the package ships.
find_package(Protobuf REQUIRED)

if(TENON_STATIC_LLVM)
  find_file(TENON_ONNX_SCHEMA onnx.proto PATH_SUFFIXES onnx REQUIRED)
  find_library(TENON_STATIC_PROTOBUF libprotobuf.a REQUIRED)
  set(messages ${CMAKE_BINARY_DIR}/onnx_messages)
  # The schema as packaged asks for the small runtime, which cannot show unknown fields.
  file(READ ${TENON_ONNX_SCHEMA} schema)
  string(REPLACE "option optimize_for = LITE_RUNTIME;" "" schema "${schema}")
  file(CONFIGURE OUTPUT ${messages}/onnx/onnx-ml.proto CONTENT "${schema}" @ONLY)
  add_custom_command(
    OUTPUT ${messages}/onnx/onnx-ml.pb.cc ${messages}/onnx/onnx-ml.pb.h
    COMMAND protobuf::protoc --proto_path=${messages} --cpp_out=${messages} onnx/onnx-ml.proto
    DEPENDS ${messages}/onnx/onnx-ml.proto)
  add_library(tenon_onnx_messages STATIC ${messages}/onnx/onnx-ml.pb.cc)
  target_include_directories(tenon_onnx_messages PUBLIC ${messages})
  target_link_libraries(tenon_onnx_messages PUBLIC ${TENON_STATIC_PROTOBUF})
else()
  find_library(TENON_ONNX_PROTO onnx_proto REQUIRED) # libonnx-dev
endif()

function(tenon_link_onnx target)
  if(TENON_STATIC_LLVM)
    target_link_libraries(${target} PRIVATE tenon_onnx_messages)
    add_dependencies(${target} tenon_onnx_messages)
  else()
    target_link_libraries(${target} PRIVATE ${TENON_ONNX_PROTO} protobuf::libprotobuf)
  endif()
endfunction()
