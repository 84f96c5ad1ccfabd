#include "driver/cuda/mapping_exports.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "core/error.h"
#include "driver/cuda/contexts.h"
#include "driver/cuda/imports.h"

namespace polypath::cuda {
namespace {

// A reference to the memory that is mapped there; none if another one is by now.
std::optional<MemoryReference> reference_to(const MemoryPart& part) {
  std::uint64_t handle = 0;
  void* const begin =
      reinterpret_cast<void*>(part.base.value);  // NOLINT(performance-no-int-to-ptr)
  if (functions().memory_retain(&handle, begin) != kSuccess) return std::nullopt;
  MemoryReference reference(handle, part.size);
  if (id_of_memory(part.base) != part.id) return std::nullopt;
  return reference;
}

// True if other memory is mapped by now where a part of it was.
bool is_replaced(const std::vector<MemoryPart>& before, const std::vector<MemoryPart>& now) {
  return std::ranges::any_of(before, [&](const MemoryPart& old) {
    return std::ranges::any_of(
        now, [&](const MemoryPart& part) { return part.base == old.base && part.id != old.id; });
  });
}

Descriptor file_of(const MemoryReference& memory) {
  int file = -1;
  const Result result = functions().memory_export(&file, memory.handle(), kFileHandles, 0);
  return Descriptor(result == kSuccess ? file : -1);
}

}  // namespace

MappingExports& MappingExports::of_process() {
  static auto& exports = *new MappingExports;
  return exports;
}

MappingOffer MappingExports::offer(const std::vector<MemoryPart>& parts, ContextPointer context) {
  const std::scoped_lock lock(mutex_);
  if (!server_)
    server_ = std::make_unique<FileServer>([this](std::uint64_t number) { return files(number); });
  std::erase_if(offers_, [&](const auto& each) { return is_replaced(each.second.parts, parts); });
  const auto known =
      std::ranges::find_if(offers_, [&](const auto& each) { return each.second.parts == parts; });
  if (known != offers_.end()) return {server_->name(), known->first};
  offers_[++last_] = {parts, context};
  return {server_->name(), last_};
}

MappingExports::Offer MappingExports::offer_of(std::uint64_t number) {
  const std::scoped_lock lock(mutex_);
  const auto found = offers_.find(number);
  return found == offers_.end() ? Offer{} : found->second;
}

std::vector<MemoryReference> MappingExports::references(std::uint64_t number) {
  const Offer offer = offer_of(number);
  std::vector<MemoryReference> references;
  if (offer.parts.empty()) return references;
  const Current current(offer.context);
  const RelaxedCapture relaxed;
  for (const MemoryPart& part : offer.parts) {
    auto reference = reference_to(part);
    if (!reference) {
      const std::scoped_lock lock(mutex_);
      offers_.erase(number);
      return {};
    }
    references.push_back(*std::move(reference));
  }
  return references;
}

// By the server's thread, which has no context of its own.
std::vector<Descriptor> MappingExports::files(std::uint64_t number) {
  std::vector<Descriptor> files;
  try {
    for (const MemoryReference& memory : references(number)) {
      files.push_back(file_of(memory));
      if (!files.back().is_open()) return {};
    }
  } catch (const Error&) {
    return {};  // the context has ended, and its memory may have, too
  }
  return files;
}

std::vector<MemoryReference> import_files(const std::vector<Descriptor>& files, Bytes each) {
  std::vector<MemoryReference> memories;
  for (const Descriptor& file : files) {
    std::uint64_t handle = 0;
    void* const number = reinterpret_cast<void*>(static_cast<std::intptr_t>(file.get()));  // NOLINT
    check(functions().memory_import(&handle, number, kFileHandles),
          "cuMemImportFromShareableHandle");
    memories.emplace_back(handle, each);
  }
  return memories;
}

}  // namespace polypath::cuda
