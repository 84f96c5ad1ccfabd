#include "api/preload/ipc_entry.h"

#include <fmt/format.h>

#include <cstring>

#include "core/hash.h"

namespace polypath::preload {
namespace {

// The entry as it lies in the file. It never leaves the node, so that byte order does not matter.
struct Layout {
  char mark[8];
  std::uint64_t version;
  unsigned char handle[64];
  std::int64_t number;
  std::uint64_t start;
  std::uint64_t number_space;
  unsigned char owner[16];
  std::uint64_t base;
  std::uint64_t size;
  std::uint64_t generation;
  std::uint64_t checksum;  ///< of everything before it
};
static_assert(sizeof(Layout) == 152, "no padding: every byte is written");

constexpr char kMark[] = "ppathipc";
constexpr std::uint64_t kVersion = 1;

std::uint64_t checksum_of(const Layout& layout) {
  return Hash().add(&layout, offsetof(Layout, checksum)).value();
}

}  // namespace

std::size_t entry_size() { return sizeof(Layout); }

std::string encode(const ExportedMemory& memory) {
  Layout layout{};
  std::memcpy(layout.mark, kMark, sizeof layout.mark);
  layout.version = kVersion;
  std::memcpy(layout.handle, memory.handle.bytes.data(), sizeof layout.handle);
  layout.number = memory.exporter.number;
  layout.start = memory.exporter.start;
  layout.number_space = memory.exporter.number_space;
  std::memcpy(layout.owner, memory.owner.bytes.data(), sizeof layout.owner);
  layout.base = memory.base;
  layout.size = memory.size.value;
  layout.generation = memory.generation;
  layout.checksum = checksum_of(layout);
  return {reinterpret_cast<const char*>(&layout), sizeof layout};
}

std::optional<ExportedMemory> decode(const std::string& bytes) {
  Layout layout{};
  if (bytes.size() != sizeof layout) return std::nullopt;
  std::memcpy(&layout, bytes.data(), sizeof layout);
  if (std::memcmp(layout.mark, kMark, sizeof layout.mark) != 0 || layout.version != kVersion ||
      layout.checksum != checksum_of(layout))
    return std::nullopt;
  ExportedMemory memory;
  std::memcpy(memory.handle.bytes.data(), layout.handle, sizeof layout.handle);
  memory.exporter = {layout.number, layout.start, layout.number_space};
  std::memcpy(memory.owner.bytes.data(), layout.owner, sizeof layout.owner);
  memory.base = layout.base;
  memory.size = {layout.size};
  memory.generation = layout.generation;
  return memory;
}

std::string entry_name(const cuda::IpcHandle& handle) {
  return fmt::format("{:016x}{:016x}.ipc", Hash().add(handle.bytes.data(), 64).value(),
                     Hash(~Hash::kUsualSeed).add(handle.bytes.data(), 64).value());
}

}  // namespace polypath::preload
