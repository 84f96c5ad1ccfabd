#pragma once
// A registry of exported memory in a folder of its own, and an entry for it.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "api/preload/ipc_registry.h"

namespace polypath::preload {

inline cuda::IpcHandle handle(unsigned char first) {
  cuda::IpcHandle made;
  made.bytes.fill(7);
  made.bytes[0] = first;
  return made;
}

inline ExportedMemory memory(unsigned char first = 1) {
  ExportedMemory made;
  made.handle = handle(first);
  made.exporter = this_process().value();
  made.owner.bytes[3] = 9;
  made.base = 0x7f0000000000;
  made.size = 64_MiB;
  made.generation = 42;
  return made;
}

class Registry : public testing::Test {
 protected:
  Registry() {
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = std::filesystem::temp_directory_path() / ("polypath_registry_" + test);
    std::filesystem::remove_all(folder_);
  }
  ~Registry() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::filesystem::path file(const ExportedMemory& of) const {
    return folder_ / entry_name(of.handle);
  }
  [[nodiscard]] std::string contents(const ExportedMemory& of) const {
    std::ifstream stream(file(of), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::filesystem::path& path, const std::string& bytes) const {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    ::chmod(path.c_str(), 0600);
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_),
                                                  std::filesystem::directory_iterator()));
  }

  std::filesystem::path folder_;
};

}  // namespace polypath::preload
