#pragma once
// What a program's own library has for messages between nodes, in place of TCP.

#include <memory>
#include <string>

#include "communicator/communicator.h"
#include "communicator/transport/transport.h"

namespace polypath::python {

class OwnMessages {
 public:
  /// This rank's library has none, for a reason.
  explicit OwnMessages(std::string why_not = {}) : why_not_(std::move(why_not)) {}
  OwnMessages(const OwnMessages&) = delete;
  OwnMessages& operator=(const OwnMessages&) = delete;
  virtual ~OwnMessages() = default;

  /// Whether all ranks have them, which all find alike; all call it.
  [[nodiscard]] bool serve(Communicator& communicator) const;
  /// All ranks call it, if they serve.
  virtual std::unique_ptr<Transport> connect(Communicator& communicator);
  /// What carries them: "mpi".
  [[nodiscard]] virtual std::string carrier() const { return {}; }

 private:
  std::string why_not_;
};

}  // namespace polypath::python
