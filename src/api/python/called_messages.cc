#include "api/python/called_messages.h"

#include <span>

#include "communicator/transport/transport_by_calls.h"

namespace nb = nanobind;

namespace polypath::python {
namespace {

// Of what is sent, too: frameworks warn of memory that may not be written.
template <class Byte>
nb::object view_of(std::span<Byte> bytes) {
  auto* const first = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
  return nb::steal(
      PyMemoryView_FromMemory(first, static_cast<Py_ssize_t>(bytes.size()), PyBUF_WRITE));
}

WaitingCalls calls_by(const Function& object) {
  return {
      .send =
          [object](int to, WaitingCalls::Lane lane, std::span<const std::byte> bytes) {
            call_python([&] { object->attr("send")(to, static_cast<int>(lane), view_of(bytes)); });
          },
      .receive =
          [object](int from, WaitingCalls::Lane lane, std::span<std::byte> bytes) {
            call_python(
                [&] { object->attr("receive")(from, static_cast<int>(lane), view_of(bytes)); });
          },
      .stop = [object] { call_python([&] { object->attr("stop")(); }); }};
}

}  // namespace

std::unique_ptr<Transport> CalledMessages::connect(Communicator& communicator) {
  const Function object = ask_python([this] { return shared((*make_)()); });
  return transport_by_calls(calls_by(object), communicator.rank(), communicator.size());
}

}  // namespace polypath::python
