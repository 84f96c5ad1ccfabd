#pragma once
// Facts about tensors that PyTorch 2.10 and newer returns through C functions (DLPack 1.3,
// DLPackExchangeAPI). That takes a tenth of the time of asking for each attribute.

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>

namespace polypath::python {

/// DLPack's device type for CUDA GPUs (kDLCUDA).
constexpr std::int32_t kCudaDevice = 2;

/// A tensor's memory, as it is now.
struct TensorMemory {
  std::uintptr_t address = 0;
  std::uint64_t elements = 0;
  std::uint32_t type = 0;  ///< kind, bits and lanes of an element: equal if the types are
  std::int32_t device = 0, device_number = 0;
  bool contiguous = false;  ///< in C order, without gaps

  bool operator==(const TensorMemory&) const = default;
};

/// The functions of one class of tensors. The interpreter's lock guards them.
class DlpackExchange {
 public:
  /// Error (invalid_argument) for a class that has none, or of another version only.
  explicit DlpackExchange(nanobind::handle tensor_class);

  /// Nothing for a tensor that has no memory of its own, as sparse ones.
  [[nodiscard]] std::optional<TensorMemory> memory(nanobind::handle tensor) const;
  /// The handle of the GPU's current stream of this thread. Throws what Python raises.
  [[nodiscard]] std::uintptr_t current_stream(int gpu) const;

 private:
  struct Functions;

  nanobind::object kept_;  ///< owner of the functions
  const Functions* functions_ = nullptr;
};

}  // namespace polypath::python
