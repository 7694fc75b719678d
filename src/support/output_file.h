// SPDX-License-Identifier: Apache-2.0
// A file that is written from its begin to its end; what goes wrong is a UserError with the reason.
//
//   OutputFile out = OutputFile::create(folder / "net.weights", "out/net.weights");
//   out.write(bytes);
//   out.close();      // "out/net.weights: cannot be written: No space left on device"
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tenon {

class OutputFile {
 public:
  // A file that did not exist before; links are not followed. `shown` is the name by which the user knows it.
  static OutputFile create(const std::filesystem::path& path, std::string shown);
  // Takes a descriptor; -1 is one that could not be opened, for the reason in errno.
  OutputFile(int descriptor, std::string shown);

  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile& operator=(OutputFile&&) = delete;

  void write(std::string_view bytes);
  void close();  // some disks say only now that they are full

 private:
  [[noreturn]] void fail() const;
  int descriptor_;
  std::string shown_;
};

}  // namespace tenon
