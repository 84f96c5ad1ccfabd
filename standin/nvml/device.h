#pragma once
// How NVML's functions find the GPU that they are asked about, and answer.

#include <string>
#include <vector>

#include "standin/facts/gpus.h"
#include "standin/nvml/abi.h"

namespace polypath::standin {

/// Those of the machine; null before NVML has been started.
const std::vector<Gpu>* known_gpus();

NvmlPciInfo pci_info(const std::string& bus_id, int bus);

/// Runs a body for the GPU of a handle, which is its index plus one.
template <class Body>
NvmlResult with(NvmlDevice device, Body body) {
  const std::vector<Gpu>* gpus = known_gpus();
  if (gpus == nullptr) return kNvmlUninitialized;
  const auto index = reinterpret_cast<std::uintptr_t>(device) - 1;
  return index < gpus->size() ? body((*gpus)[index]) : kNvmlInvalidArgument;
}

/// Answers where the program wants it.
template <class Value, class Given>
NvmlResult put(Value* where, Given value) {
  if (where == nullptr) return kNvmlInvalidArgument;
  *where = static_cast<Value>(value);
  return kNvmlSuccess;
}

}  // namespace polypath::standin
