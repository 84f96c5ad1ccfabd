#pragma once
// The fields of DriverBehaviour by name, for all that reads, writes or checks them.

#include <string_view>
#include <variant>
#include <vector>

#include "machine/driver_behaviour.h"

namespace polypath::machine {

/// One field: its name in machine files, where it stands, and the range of its value in SI units.
struct DriverField {
  using Member = std::variant<Seconds DriverBehaviour::*, Bytes DriverBehaviour::*,
                              BytesPerSecond DriverBehaviour::*, double DriverBehaviour::*,
                              int DriverBehaviour::*>;
  std::string_view name;
  Member member;
  double least;
  double most;

  template <class Quantity>
  [[nodiscard]] bool is() const {
    return std::holds_alternative<Quantity DriverBehaviour::*>(member);
  }
  [[nodiscard]] double value_in(const DriverBehaviour& driver) const;
  /// True if the field can have that value: it lies in the range, and is whole where parts of one
  /// mean nothing.
  [[nodiscard]] bool accepts(double value) const;
  /// Demands a value that fits its type.
  void set(DriverBehaviour& driver, double value) const;
};

/// All fields, in the order of DriverBehaviour.
const std::vector<DriverField>& driver_fields();

}  // namespace polypath::machine
