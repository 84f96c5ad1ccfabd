#include "standin/chaos/message_kernel.h"

#include <utility>

namespace polypath::standin::chaos {
namespace {

std::vector<std::byte*> pointers_to(const std::vector<Place>& memory) {
  std::vector<std::byte*> pointers;
  for (const Place& place : memory) pointers.push_back(place.bytes);
  return pointers;
}

}  // namespace

MessageKernel::MessageKernel(const KernelWork& kernel, std::vector<Place> memory)
    : memory_(std::move(memory)), messages_(kernel.words, pointers_to(memory_)) {}

JobState MessageKernel::step(Chance&) {
  return messages_.step() ? JobState::done : JobState::not_yet;
}

}  // namespace polypath::standin::chaos
