// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/loader.h"

#include <dlfcn.h>
#include <llvm/ExecutionEngine/RTDyldMemoryManager.h>
#include <llvm/ExecutionEngine/RuntimeDyld.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sys/mman.h>

#include "support/check.h"

namespace tenon::backend::llvm_cpu {
namespace {

constexpr size_t kPage = 4096;

size_t page_up(size_t n) { return (n + kPage - 1) / kPage * kPage; }

// One mapping for all sections, so that every reference between them fits 32 bits: code, constants,
// data, each from its own page.
class Memory : public llvm::RTDyldMemoryManager {
 public:
  ~Memory() override {
    if (base_ != nullptr) {
      munmap(base_, size_);
    }
  }

  bool needsToReserveAllocationSpace() override { return true; }

  void reserveAllocationSpace(uintptr_t code, llvm::Align code_align, uintptr_t constants,
                              llvm::Align constant_align, uintptr_t data,
                              llvm::Align data_align) override {
    code_bytes_ = page_up(code + code_align.value());
    constant_bytes_ = page_up(constants + constant_align.value());
    size_ = code_bytes_ + constant_bytes_ + page_up(data + data_align.value());
    void* p = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TENON_CHECK(p != MAP_FAILED) << "no memory for " << size_ << " bytes of code";
    base_ = static_cast<uint8_t*>(p);
    next_[0] = 0;
    next_[1] = code_bytes_;
    next_[2] = code_bytes_ + constant_bytes_;
  }

  uint8_t* allocateCodeSection(uintptr_t size, unsigned align, unsigned /*id*/,
                               llvm::StringRef /*name*/) override {
    return take(0, size, align);
  }

  uint8_t* allocateDataSection(uintptr_t size, unsigned align, unsigned /*id*/,
                               llvm::StringRef /*name*/, bool read_only) override {
    return take(read_only ? 1 : 2, size, align);
  }

  bool finalizeMemory(std::string* /*error*/) override {
    return mprotect(base_, code_bytes_, PROT_READ | PROT_EXEC) != 0 ||
           mprotect(base_ + code_bytes_, constant_bytes_, PROT_READ) != 0;
  }

  uint64_t getSymbolAddress(const std::string& name) override {
    return reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, name.c_str()));
  }

  // Generated code does not unwind.
  void registerEHFrames(uint8_t* /*at*/, uint64_t /*load*/, size_t /*size*/) override {}
  void deregisterEHFrames() override {}

 private:
  uint8_t* take(int part, size_t size, size_t align) {
    align = std::max<size_t>(align, 16);
    const size_t at = (next_[part] + align - 1) / align * align;
    next_[part] = at + size;
    const size_t limit = part == 0   ? code_bytes_
                         : part == 1 ? code_bytes_ + constant_bytes_
                                     : size_;
    TENON_CHECK(next_[part] <= limit)
        << "section of " << size << " bytes exceeds what was reserved";
    return base_ + at;
  }

  uint8_t* base_ = nullptr;
  size_t size_ = 0;
  size_t code_bytes_ = 0;
  size_t constant_bytes_ = 0;
  size_t next_[3] = {0, 0, 0};
};

}  // namespace

struct LoadedObject::Impl {
  Memory memory;
  llvm::RuntimeDyld linker{memory, memory};
  std::string bytes;
};

LoadedObject::LoadedObject(std::string object) : impl_(std::make_unique<Impl>()) {
  impl_->bytes = std::move(object);
  auto file =
      llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(impl_->bytes, "kernel"));
  TENON_CHECK(static_cast<bool>(file)) << llvm::toString(file.takeError());
  impl_->linker.loadObject(**file);
  TENON_CHECK(!impl_->linker.hasError()) << impl_->linker.getErrorString().str();
  impl_->linker.resolveRelocations();
  TENON_CHECK(!impl_->linker.hasError()) << impl_->linker.getErrorString().str();
  TENON_CHECK(!impl_->memory.finalizeMemory(nullptr)) << "cannot make code executable";
}

LoadedObject::~LoadedObject() = default;

void* LoadedObject::symbol(const std::string& name) const {
  const uint64_t address = impl_->linker.getSymbol(name).getAddress();
  TENON_CHECK(address != 0) << "object does not define " << name;
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace tenon::backend::llvm_cpu
