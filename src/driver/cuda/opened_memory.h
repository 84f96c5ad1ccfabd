#pragma once
// Memory that is open to some GPUs only, with peer access or without: of pools, and mapped at
// virtual addresses.
//
// It belongs to no context: each context of a GPU that it was opened to may use it. A range of
// mapped addresses may lie in several mappings, of several GPUs, and have gaps.

#include <optional>
#include <vector>

#include "core/units.h"
#include "driver/cuda/cuda_api.h"
#include "driver/driver.h"

namespace polypath::cuda {

class OpenedMemory {
 public:
  enum class Use { read, write };

  /// The process has got memory by a handle of a fabric, which reaches other computers. From here
  /// on all memory that may be shared in that way counts as theirs: the driver does not tell whose
  /// it is.
  static void note_fabric_import() noexcept;
  /// What the range is, if all of it is there and is one GPU's. None as well where the driver
  /// cannot say, or the memory may be another computer's. A context is current.
  static std::optional<OpenedMemory> find(Address begin, Bytes bytes);

  /// The GPU that has it.
  [[nodiscard]] Device owner() const { return owner_; }
  /// True if contexts of the GPU may use all of it. False where the driver does not say.
  [[nodiscard]] bool is_open_to(Device gpu, Use use) const;

 private:
  struct Part;

  static std::optional<Part> part_at(DevicePointer address);
  [[nodiscard]] bool add(const Part& part);
  [[nodiscard]] int access_of(Device gpu, DevicePointer part) const;

  Device owner_ = -1;
  void* pool_ = nullptr;              ///< null: it is mapped
  std::vector<DevicePointer> parts_;  ///< an address in each mapping
};

}  // namespace polypath::cuda
