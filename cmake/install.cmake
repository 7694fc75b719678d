# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, and what ./dev package makes a .deb of. Included last.
#
#   bin/                tenon, tenon-build and tenon-compare (links to it), tenon-run
#   lib/                libtenon.so: the C++ interface, with cmake/tenon/ and pkgconfig/
#   include/tenon/      its headers
#   share/tenon/        models and programs that ship
#   share/man, share/bash-completion, share/zsh, share/fish, share/doc/tenon
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(doc ${CMAKE_INSTALL_DATAROOTDIR}/doc/tenon)
set(pages ${CMAKE_BINARY_DIR}/pages)

# Pages and completions come from the program itself.
add_custom_command(
  OUTPUT ${pages}/made
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${pages}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${pages}
  COMMAND tenon help --man-pages ${pages}/man1
  COMMAND tenon completion bash > ${pages}/tenon.bash
  COMMAND tenon completion zsh > ${pages}/_tenon
  COMMAND tenon completion fish > ${pages}/tenon.fish
  COMMAND tenon licenses --full > ${pages}/copyright
  COMMAND ${CMAKE_COMMAND} -E touch ${pages}/made
  DEPENDS tenon VERBATIM)
add_custom_target(tenon_pages ALL DEPENDS ${pages}/made)

install(TARGETS tenon tenon-run RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES $<TARGET_FILE_DIR:tenon>/tenon-build $<TARGET_FILE_DIR:tenon>/tenon-compare
        DESTINATION ${CMAKE_INSTALL_BINDIR}) # links

install(TARGETS libtenon EXPORT tenon LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/tenon/tenon.h include/tenon/runtime.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tenon)
install(EXPORT tenon NAMESPACE tenon:: FILE tenonTargets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tenon)
configure_package_config_file(cmake/tenonConfig.cmake.in ${CMAKE_BINARY_DIR}/tenonConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tenon)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tenonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/tenonConfig.cmake ${CMAKE_BINARY_DIR}/tenonConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tenon)
configure_file(cmake/tenon.pc.in ${CMAKE_BINARY_DIR}/tenon.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tenon.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(DIRECTORY share/tenon DESTINATION ${CMAKE_INSTALL_DATAROOTDIR})
install(DIRECTORY ${pages}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
install(FILES ${pages}/tenon.bash DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions RENAME tenon)
install(FILES ${pages}/_tenon DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/vendor-completions)
install(FILES ${pages}/tenon.fish DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/fish/vendor_completions.d)
install(FILES ${pages}/copyright README.md DESTINATION ${doc})
install(DIRECTORY examples/c_api examples/cpp_api examples/cpp_model examples/serving DESTINATION ${doc}/examples)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tenon)
set(CPACK_PACKAGE_CONTACT "the tenon project <tenon@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler and tuner for trained neural networks")
set(CPACK_PACKAGE_DESCRIPTION "Turns ONNX models into small, fast libraries with a C header, and searches for faster ones.")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# XGBoost is loaded by the tuner when it is there, so that no program names it.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libxgboost0)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")
include(CPack)
