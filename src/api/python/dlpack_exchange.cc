#include "api/python/dlpack_exchange.h"

#include "core/error.h"

namespace nb = nanobind;

namespace polypath::python {

// Its structures, whose names begin with "DL" there.
namespace dlpack {

// DLTensor.
struct Tensor {
  void* data;
  std::int32_t device, device_number;
  std::int32_t dimensions;
  struct {
    std::uint8_t kind, bits;
    std::uint16_t lanes;
  } type;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: contiguous
  std::uint64_t offset;   // bytes
};

// DLPackExchangeAPIHeader, which no version changes.
struct Header {
  std::uint32_t major, minor;
  const Header* older;
};

}  // namespace dlpack

namespace {

using dlpack::Header;
using dlpack::Tensor;

constexpr std::uint32_t kMajorVersion = 1;

std::uint64_t elements_of(const Tensor& tensor) {
  std::uint64_t elements = 1;
  for (int axis = 0; axis < tensor.dimensions; ++axis)
    elements *= static_cast<std::uint64_t>(tensor.shape[axis]);
  return elements;
}

// Axes of one element have any stride, and nothing is contiguous.
bool is_contiguous(const Tensor& tensor, std::uint64_t elements) {
  if (tensor.strides == nullptr || elements == 0) return true;
  std::int64_t expected = 1;
  for (int axis = tensor.dimensions - 1; axis >= 0; --axis) {
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != expected) return false;
    expected *= tensor.shape[axis];
  }
  return true;
}

const Header* exchange_of(nb::handle tensor_class, const nb::object& capsule) {
  const void* found = PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api");
  if (found == nullptr) nb::raise_python_error();
  for (const auto* header = static_cast<const Header*>(found); header != nullptr;
       header = header->older)
    if (header->major == kMajorVersion) return header;
  fail(ErrorCode::invalid_argument,
       std::string(nb::str(tensor_class).c_str()) + " cannot be asked for its memory",
       "it follows a newer version of DLPack", "Update Polypath.");
}

}  // namespace

// DLPackExchangeAPI. The last one may be there or not.
struct DlpackExchange::Functions {
  dlpack::Header header;
  void* allocate;
  void* managed_from_object;
  void* managed_to_object;
  int (*memory_of)(void* object, dlpack::Tensor* out);
  int (*current_stream)(std::int32_t device, std::int32_t number, void** out);
};

DlpackExchange::DlpackExchange(nb::handle tensor_class)
    : kept_(nb::getattr(tensor_class, "__dlpack_c_exchange_api__", nb::none())) {
  if (!kept_.is_none())
    functions_ = reinterpret_cast<const Functions*>(exchange_of(tensor_class, kept_));
  if (functions_ == nullptr || functions_->memory_of == nullptr)
    fail(ErrorCode::invalid_argument,
         std::string(nb::str(tensor_class).c_str()) + " cannot be asked for its memory",
         "it has no functions of C for that", "Use PyTorch 2.10 or newer.");
}

std::optional<TensorMemory> DlpackExchange::memory(nb::handle tensor) const {
  Tensor said{};
  if (functions_->memory_of(tensor.ptr(), &said) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  const std::uint64_t elements = elements_of(said);
  return TensorMemory{
      .address = reinterpret_cast<std::uintptr_t>(said.data) + said.offset,
      .elements = elements,
      .type = std::uint32_t{said.type.kind} | std::uint32_t{said.type.bits} << 8 |
              std::uint32_t{said.type.lanes} << 16,
      .device = said.device,
      .device_number = said.device_number,
      .contiguous = is_contiguous(said, elements),
  };
}

std::uintptr_t DlpackExchange::current_stream(int gpu) const {
  void* stream = nullptr;
  if (functions_->current_stream(kCudaDevice, gpu, &stream) != 0) nb::raise_python_error();
  return reinterpret_cast<std::uintptr_t>(stream);
}

}  // namespace polypath::python
