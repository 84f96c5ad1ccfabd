#pragma once
// Messages between nodes by functions of Python that wait.

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <utility>

#include "api/python/ask_python.h"
#include "api/python/own_messages.h"

namespace polypath::python {

class CalledMessages final : public OwnMessages {
 public:
  /// `make` returns an object with send(to, lane, memory), receive(from, lane, memory) and stop(),
  /// as WaitingCalls has them.
  CalledMessages(std::string carrier, nanobind::object make)
      : carrier_(std::move(carrier)), make_(shared(std::move(make))) {}

  std::unique_ptr<Transport> connect(Communicator& communicator) override;
  [[nodiscard]] std::string carrier() const override { return carrier_; }

 private:
  std::string carrier_;
  Function make_;
};

}  // namespace polypath::python
