// What a peer can be told to do with memory at virtual addresses.

#include <fcntl.h>
#include <unistd.h>

#include "standin/mapped_pieces.h"
#include "standin/peer_commands.h"
#include "standin/reduce_kernel.h"
#include "support/layers.h"

namespace polypath::test {
namespace {

constexpr std::size_t kUnit = MappedPieces::kUnit;

// Memory of a GPU in so many pieces; the address, and files that another process can open.
std::string map(Words& words) {
  const auto gpu = next<int>(words);
  const auto count = next<std::size_t>(words);
  MappedPieces pieces(count * kUnit);
  std::string files;
  for (std::size_t i = 0; i < count; ++i) {
    int file = -1;
    const std::uint64_t memory = MappedPieces::make(kUnit, gpu);
    pieces.map(i * kUnit, kUnit, memory);
    cu("cuMemExportToShareableHandle", &file, memory, int{cuda::kFileHandles}, 0ULL);
    files += " /proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file);
  }
  return answer(pieces.result(), std::to_string(pieces.begin()) + files);
}

// Such files, side by side.
std::string map_files(Words& words) {
  std::vector<std::uint64_t> memories;
  for (std::string path; words >> path;) {
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    void* const number = reinterpret_cast<void*>(static_cast<std::intptr_t>(file));
    cu("cuMemImportFromShareableHandle", &memories.emplace_back(), number, int{cuda::kFileHandles});
    close(file);
  }
  MappedPieces pieces(memories.size() * kUnit);
  for (std::size_t i = 0; i < memories.size(); ++i) pieces.map(i * kUnit, kUnit, memories[i]);
  return answer(pieces.result(), std::to_string(pieces.begin()));
}

// A kernel of one operand copies.
std::string copy_by_kernel(Words& words) {
  const auto to = next<cuda::DevicePointer>(words), from = next<cuda::DevicePointer>(words);
  const cuda::Result result = add_up({to, from}, next<std::size_t>(words), nullptr);
  return answer(result == 0 ? cu("cuCtxSynchronize") : result);
}

}  // namespace

Commands mapping_commands() {
  return {{"map", map}, {"map_files", map_files}, {"copy_by_kernel", copy_by_kernel}};
}

}  // namespace polypath::test
