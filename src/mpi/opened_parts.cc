#include "mpi/opened_parts.h"

#include <string>

#include "core/hash.h"
#include "core/ignore_errors.h"

namespace polypath::mpi {
namespace {

std::uint64_t hash_of(const Surroundings& around) {
  return Hash().add(said_of_gpus(around.names)).value();
}

}  // namespace

std::pair<WindowPart, ExportedMemory> OpenedParts::exported(Address begin, std::uint64_t bytes) {
  const Surroundings& around = open_(GpusOf::process);
  const ExportedMemory memory = around.driver.export_memory(begin);
  const std::scoped_lock lock(mutex_);
  own_ = begin;
  return {{.begin = begin.value, .bytes = bytes, .gpus = hash_of(around)}, memory};
}

// The GPU of this rank's own memory, if it has any in the window.
PlaceId OpenedParts::copying_gpu(const Surroundings& around) const {
  if (own_.value != 0)
    if (const auto found = around.driver.find_memory(own_)) return found->place;
  return usual_gpu(around, rank_ % std::max(1, static_cast<int>(around.visible.size())));
}

OpenedParts::Opened OpenedParts::open(int target, const WindowPart& part) {
  const Surroundings& own = open_(GpusOf::process);
  if (target == rank_) {
    const auto found = own.driver.find_memory({part.begin});
    return {&own, {part.begin}, found ? found->place : copying_gpu(own), false};
  }
  const bool sees_same = hash_of(own) == part.gpus;
  const Surroundings& around = sees_same ? own : open_(GpusOf::computer);
  const PlaceId gpu = copying_gpu(around);
  const auto bytes = static_cast<std::ptrdiff_t>(part.exported_bytes);
  const ExportedMemory memory(part.exported.begin(), part.exported.begin() + bytes);
  return {&around, around.driver.import_memory(memory, gpu), gpu, true};
}

Reached OpenedParts::reach(int target, const WindowPart& part, Address address) {
  const std::scoped_lock lock(mutex_);
  const auto key = std::pair(target, part.edition);
  auto found = opened_.find(key);
  if (found == opened_.end()) found = opened_.emplace(key, open(target, part)).first;
  const Opened& opened = found->second;
  return {opened.around, {opened.begin.value + (address.value - part.begin)}, opened.gpu};
}

void OpenedParts::settle() {
  const std::scoped_lock lock(mutex_);
  if (own_.value == 0) return;
  const Surroundings& around = open_(GpusOf::process);
  around.driver.synchronize(around.default_stream(copying_gpu(around)));
}

void OpenedParts::close() noexcept {
  const std::scoped_lock lock(mutex_);
  for (const auto& [key, opened] : opened_)
    if (opened.is_imported)
      ignore_errors([&] { opened.around->driver.release_import(opened.begin); });
  opened_.clear();
}

}  // namespace polypath::mpi
